"""
The libraries of others in the console: `.venv/bin/python -m tests.rig.console_vendor` brings them anew, with their licences.

uPlot and js-yaml stay as they were published. CodeMirror is published in many parts: esbuild makes one file of those that
`editor` names, on Linux. To update one, change its version and checksum here, run this, and look at the console.
"""

from __future__ import annotations

import hashlib
import io
import subprocess
import tarfile
import tempfile
import urllib.request
from pathlib import Path

import kconnect.console

CONSOLE = Path(kconnect.console.__file__).parent
PUBLISHED = {
    ("uplot", "1.6.32", "4b8a8191e425658e3ea8c8c1314b0fc679c861ee3a1af2b20c7b16ba50b5133d"): {
        "dist/uPlot.esm.js": "uplot.js",
        "dist/uPlot.min.css": "uplot.css",
        "dist/uPlot.d.ts": "uplot.d.ts",
        "LICENSE": "uplot.LICENSE",
    },
    ("js-yaml", "5.5.0", "23cb2e121ad69acd15fc786b7a9265a81eeeaa9f684ee73e717d6ecdbd8b0c90"): {
        "dist/browser/js-yaml.esm.min.mjs": "jsyaml.js",
        "dist/js-yaml.d.ts": "jsyaml.d.ts",
        "LICENSE": "jsyaml.LICENSE",
    },
}
ESBUILD = ("@esbuild/linux-x64", "0.28.2", "9573bb2233aab0f9ea7647d5cca9726113cc1768de61d66b17267f4db84488f6")
PARTS = (
    ("@codemirror/state", "6.7.6", "91d75acc955ceeaf86af9396c11cda7694fe6222aac8427fa033d89eff5ac839"),
    ("@codemirror/view", "6.43.15", "f0d5921406f841d211fa0887aabf10626c47676bfc63a4abed2a4d207e27c5ac"),
    ("@codemirror/commands", "6.11.1", "f477f46d8c00278e1b387baebd53bd6556fd5f3c7401ebe2a05543600fcbff0f"),
    ("@codemirror/language", "6.13.1", "e711ec28da046f6c163e777c5466d8ac805ee9ef5f51c511e8729c6789be7f83"),
    ("@codemirror/lint", "6.9.8", "637290fb6a6633a1a08f44c721afb75e0387d86c9b7c42d723a00a974811aae8"),
    ("@codemirror/autocomplete", "6.20.4", "40b9657b137284426bcd829cdee7dc78a748337de997a12b10b5c725f67aa0d0"),
    ("@codemirror/lang-json", "6.0.2", "cf896487f9b2bc9fb0ca6331b84c3a20c7a12687f52ae41777d24ef719e1bcc3"),
    ("@codemirror/lang-yaml", "6.1.3", "1ca03b21045ffbc35146ab068ca5c79b78da9197bdbfaa432718786563ac0712"),
    ("@codemirror/streamparser", "6.0.0", "b4888c5ab40350e7a1747d765948a8fa45cfd127c479dd4cdef8097046efe14a"),
    ("@lezer/common", "1.5.5", "ed93cee36403124f51eae638b8a032d6694914c19704de7610db7f2a9441c963"),
    ("@lezer/highlight", "1.2.5", "e349eec1ff4382439c1e6286ae937e0203a8349c5192e2e133863391775ac7ff"),
    ("@lezer/lr", "1.4.12", "64382ee7f144221e4c655f2034393c6be9cecaf5ea2ec1c1edeb99424defb272"),
    ("@lezer/json", "1.0.3", "af9487c7c44816fc40e6c4b586c2cb1404f06fac4c71bedd07b5031675782fc1"),
    ("@lezer/yaml", "1.0.4", "6423ff4510ce7e573b5666b0025be6516709e6285ee07d781dffc3218093b009"),
    ("style-mod", "4.1.5", "c4a44844213a141da55c51a2f81d701acdb9944465328b4a2a6b9626c6d9fc39"),
    ("w3c-keyname", "2.2.8", "05d21484026d1f2dd842c843181e391e66d60f1d5dff292d562c3f40302dab36"),
    ("crelt", "1.0.7", "3542299c0278fdc26aceb2b13d31bffbcb89d7367706bbc457130e3fd103c03e"),
    ("@marijn/find-cluster-break", "1.0.4", "5d12b770b64d46632c84fcd18e1d4c09f195ed0f5dbc71f94a41f0af333eaeae"),
)
EDITOR = """
export { EditorState, Compartment } from "@codemirror/state";
export { EditorView, keymap, lineNumbers, drawSelection, highlightActiveLine } from "@codemirror/view";
export { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
export { syntaxHighlighting, HighlightStyle, bracketMatching, indentOnInput } from "@codemirror/language";
export { setDiagnostics, lintGutter } from "@codemirror/lint";
export { autocompletion, completionKeymap, closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
export { json } from "@codemirror/lang-json";
export { yaml } from "@codemirror/lang-yaml";
export { tags } from "@lezer/highlight";
"""
"""What `code.js` imports; `codemirror.d.ts` says what of it."""


def fetched() -> dict[str, bytes]:
    """By the name that each file has in the console."""
    found = {}
    for package, files in PUBLISHED.items():
        content = _unpacked(*package)
        found.update({name: content[member] for member, name in files.items()})
    with tempfile.TemporaryDirectory() as folder:
        found |= _bundled(Path(folder))
    return found


def _bundled(folder: Path) -> dict[str, bytes]:
    licences = []
    for package in (*PARTS, ESBUILD):
        content = _unpacked(*package)
        for name, data in content.items():
            file = folder / "node_modules" / package[0] / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        if package != ESBUILD:
            licences.append(f"{package[0]} {package[1]}\n\n".encode() + content["LICENSE"].strip() + b"\n")
    (folder / "editor.js").write_text(EDITOR)
    program = folder / "node_modules" / ESBUILD[0] / "bin" / "esbuild"
    program.chmod(0o700)
    made = ("--bundle", "--minify", "--format=esm", "--legal-comments=none", "--log-level=warning", "--outfile=made.js")
    subprocess.run([program, "editor.js", *made], cwd=folder, check=True)
    return {"codemirror.js": (folder / "made.js").read_bytes(), "codemirror.LICENSE": b"\n".join(licences)}


def _unpacked(name: str, version: str, checksum: str) -> dict[str, bytes]:
    """A package of npm: its files by their paths."""
    url = f"https://registry.npmjs.org/{name}/-/{name.rpartition('/')[2]}-{version}.tgz"
    with urllib.request.urlopen(url, timeout=120) as answer:
        data = answer.read()
    if hashlib.sha256(data).hexdigest() != checksum:
        raise SystemExit(f"{url} is not what it was")
    with tarfile.open(fileobj=io.BytesIO(data)) as packed:
        files = {member.name.partition("/")[2]: packed.extractfile(member) for member in packed if member.isfile()}
        return {path: file.read() for path, file in files.items() if file is not None}


if __name__ == "__main__":
    for name, content in fetched().items():
        (CONSOLE / name).write_bytes(content)
