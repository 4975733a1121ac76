/**
 * The worker's REST API: the one place that sends requests.
 *
 * Made by `main.js` and given to the views. What is asked here anybody may ask: docs/rest.md.
 */

/** An answer that is an error, in the worker's words; status 0 means that there was none. */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {string} message
   */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// The names that the views have for what the worker answers.
/** @typedef {import("./answers.js").OverviewRow} Row */
/** @typedef {import("./answers.js").Overview} Overview */
/** @typedef {import("./answers.js").ConnectorStateInfo} Status */
/** @typedef {import("./answers.js").ConnectorState | import("./answers.js").TaskState} UnitStatus */
/** @typedef {import("./answers.js").Config} Config */
/** @typedef {import("./answers.js").ConnectorOffsets["offsets"][number]} Offset */
/** @typedef {NonNullable<import("./answers.js").PlacedUnit["host"]>} Host */
/** @typedef {import("./answers.js").OwnConnector["tasks"][number]} OwnTask */
/** @typedef {import("./answers.js").PlacedUnit} Placed */
/** @typedef {import("./answers.js").ConfigValueInfo} ConfigValue */
/** @typedef {import("./answers.js").ConfigInfos} Validation */
/** @typedef {import("./answers.js").Plugins[number]} Plugin */
/** @typedef {import("./answers.js").Change} Change */
/** @typedef {import("./answers.js").History} History */
/** @typedef {import("./answers.js").Login} Login */
/** @typedef {import("./answers.js").DeadLetter} Letter */
/** @typedef {import("./answers.js").DeadLetters} Letters */
/** @typedef {import("./answers.js").ReplayedLetter} Decided */

export class Api {
  /** @param {string} base the worker's address, with a slash at its end */
  constructor(base) {
    this.base = base;
    /** What the user may do: `read`, `operate` or `admin`. The worker refuses the rest in any case. */
    this.role = "admin";
  }

  /** @param {"operate" | "admin"} role */
  may(role) {
    return this.role === "admin" || this.role === role;
  }

  /**
   * @param {string} method
   * @param {string} path without a slash before it
   * @param {unknown} [body]
   * @param {AbortSignal} [signal]
   * @returns {Promise<any>} null if there is no body
   */
  async send(method, path, body, signal) {
    return (await this._exchange(method, path, body, signal)).data;
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   * @param {AbortSignal} [signal]
   * @param {Record<string, string>} [more] headers
   * @returns {Promise<{data: any, tag: string | null}>} the body, and the `ETag`
   */
  async _exchange(method, path, body, signal, more) {
    /** @type {Response} */
    let answer;
    try {
      answer = await fetch(this.base + path, {
        method,
        signal: signal ?? null,
        headers: { Accept: "application/json", "X-Kconnect-Console": "1", ...(method === "GET" ? {} : { "Content-Type": "application/json" }), ...more },
        body: body === undefined ? null : JSON.stringify(body),
      });
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") throw error;
      throw new ApiError(0, "The worker does not answer. It may have ended, or the network is away.");
    }
    const text = await answer.text();
    /** @type {any} */
    let data = null;
    try {
      data = text === "" ? null : JSON.parse(text);
    } catch {
      data = { message: text.slice(0, 500) };
    }
    if (!answer.ok) throw new ApiError(answer.status, data?.message ?? `The worker answers with status ${answer.status}.`);
    return { data, tag: answer.headers.get("ETag") };
  }

  /**
   * @param {string} path
   * @param {AbortSignal} [signal]
   */
  get(path, signal) {
    return this.send("GET", path, undefined, signal);
  }

  async login() {
    return /** @type {Login} */ (await this.get("console/login"));
  }

  /** @param {{user: string, password: string} | {token: string}} credentials */
  async logIn(credentials) {
    await this.send("POST", "console/login", credentials);
  }

  async logOut() {
    await this.send("DELETE", "console/login");
  }

  /**
   * @param {string | null} since
   * @param {number} wait in ms
   * @param {AbortSignal} [signal]
   * @returns {Promise<Overview>}
   */
  overview(since, wait, signal) {
    const query = since === null ? "" : `?since=${encodeURIComponent(since)}&wait=${wait}`;
    return this.get(`kconnect/overview${query}`, signal);
  }

  /** @param {string} name */
  async status(name) {
    return /** @type {Status} */ (await this.get(`${connector(name)}/status`));
  }

  /** @param {string} name */
  async config(name) {
    return /** @type {Config} */ (await this.get(`${connector(name)}/config`));
  }

  /**
   * Change some settings, onto the config of now.
   *
   * @param {string} name
   * @param {Record<string, string | null>} changes null removes a setting
   * @param {(there: Config) => Promise<boolean>} agreed whether they may be changed, given what is there
   * @returns {Promise<boolean>} false if they were not
   */
  async changeConfig(name, changes, agreed) {
    /** @type {string | null} */
    let refused = null;
    for (;;) {
      const { data, tag } = await this._exchange("GET", `${connector(name)}/config`);
      if (!(await agreed(/** @type {Config} */ (data)))) return false;
      try {
        await this._exchange("PATCH", `${connector(name)}/config`, changes, undefined, tag === null ? {} : { "If-Match": tag });
        return true;
      } catch (error) {
        // Somebody else was quicker in between.
        if (!(error instanceof ApiError) || error.status !== 412) throw error;
        // Nobody was: a proxy has made another tag of the worker's.
        if (tag === refused) throw error;
        refused = tag;
      }
    }
  }

  /**
   * @param {string} name
   * @param {Config} config
   * @param {string} state
   */
  async create(name, config, state) {
    await this.send("POST", "connectors", { name, config: { ...config, name }, initial_state: state });
  }

  /** @param {string} name */
  async schemas(name) {
    return /** @type {{topic: string, part: "key" | "value", version: number, fields: {field: string, type: string}[]}[]} */ (
      (await this.get(`kconnect/${connector(name)}/schemas`)).schemas
    );
  }

  async plugins() {
    return /** @type {Plugin[]} */ (await this.get("connector-plugins?connectorsOnly=false"));
  }

  async pluginPlaces() {
    return /** @type {{plugins: (Plugin & {location: string})[], broken: {location: string, reason: string}[]}} */ (await this.get("kconnect/plugins"));
  }

  async internalTopics() {
    return /** @type {{topics: {role: string, topic: string, there: boolean, partitions: number, replication: number, records: number}[], findings: {severity: string, topic: string, text: string, remedy: string}[]}} */ (
      await this.get("kconnect/topics")
    );
  }

  async audit() {
    return /** @type {string[]} */ ((await this.get("kconnect/audit")).lines);
  }

  /**
   * What would restart if these settings changed, in a sentence.
   *
   * @param {string} name
   * @param {string[]} changed
   */
  async restarts(name, changed) {
    const query = new URLSearchParams(changed.map((setting) => ["changed", setting]));
    return /** @type {string} */ ((await this.get(`kconnect/${connector(name)}/restarts?${query}`)).text);
  }

  /** @param {string} plugin */
  async definitions(plugin) {
    return /** @type {import("./form.js").Definition[]} */ (await this.get(`connector-plugins/${encodeURIComponent(plugin)}/config`));
  }

  /**
   * @param {string} plugin
   * @param {Config} config
   */
  async validate(plugin, config) {
    const path = `connector-plugins/${encodeURIComponent(plugin)}/config/validate`;
    return /** @type {Validation} */ (await this.send("PUT", path, config));
  }

  /**
   * @param {string} name
   * @param {"pause" | "resume" | "stop"} verb
   */
  async setState(name, verb) {
    await this.send("PUT", `${connector(name)}/${verb}`);
  }

  /**
   * With its tasks.
   *
   * @param {string} name
   */
  async restart(name) {
    await this.send("POST", `${connector(name)}/restart?includeTasks=true`);
  }

  /**
   * @param {string} name
   * @param {number} task
   */
  async restartTask(name, task) {
    await this.send("POST", `${connector(name)}/tasks/${task}/restart`);
  }

  /** @param {string} name */
  async delete(name) {
    await this.send("DELETE", connector(name));
  }

  /** @param {string} name */
  async offsets(name) {
    return /** @type {Offset[]} */ ((await this.get(`${connector(name)}/offsets`)).offsets);
  }

  /**
   * @param {string} name
   * @param {Offset[]} offsets
   */
  async alterOffsets(name, offsets) {
    return /** @type {string} */ ((await this.send("PATCH", `${connector(name)}/offsets`, { offsets })).message);
  }

  /** @param {string} name */
  async resetOffsets(name) {
    return /** @type {string} */ ((await this.send("DELETE", `${connector(name)}/offsets`)).message);
  }

  /**
   * @param {string} name
   * @param {{contains: string, stage: string, oldest: boolean, limit: number}} wanted
   * @returns {Promise<Letters>}
   */
  deadLetters(name, wanted) {
    const query = new URLSearchParams(Object.entries(wanted).map(([key, value]) => [key, String(value)]));
    return this.get(`kconnect/${connector(name)}/dead-letters?${query}`);
  }

  /**
   * @param {string} name
   * @param {{partition: number, offset: number}[]} letters
   * @param {{dry_run: boolean, through_chain: boolean}} how
   */
  async replay(name, letters, how) {
    const places = letters.map(({ partition, offset }) => ({ partition, offset }));
    return /** @type {{replayed: number, letters: Decided[]}} */ (
      await this.send("POST", `kconnect/${connector(name)}/dead-letters/replay`, { letters: places, ...how })
    );
  }

  /** @param {string} name */
  async topics(name) {
    return /** @type {string[]} */ ((await this.get(`${connector(name)}/topics`))[name].topics);
  }

  /** @param {string} name */
  async own(name) {
    return /** @type {{name: string, tasks: OwnTask[], advice: string[], config: Config}} */ (await this.get(`kconnect/${connector(name)}`));
  }

  /** @param {string} name */
  async history(name) {
    return /** @type {History} */ (await this.get(`kconnect/${connector(name)}/history`));
  }

  /**
   * Where a sink would go on.
   *
   * @param {string} name
   * @param {string} where as a query
   */
  async moves(name, where) {
    return /** @type {import("./rewind.js").Move[]} */ ((await this.get(`kconnect/${connector(name)}/offsets/moves?${where}`)).moves);
  }

  /** @param {string} name */
  async changes(name) {
    return /** @type {{since: number | null, restarts: number, changes: Change[]}} */ (await this.get(`kconnect/${connector(name)}/changes`));
  }

  /** @param {string} name */
  async placement(name) {
    return /** @type {{connector: Placed, tasks: Placed[]}} */ (await this.get(`kconnect/${connector(name)}/placement`));
  }
}

/** @param {string} name */
function connector(name) {
  return `connectors/${encodeURIComponent(name)}`;
}
