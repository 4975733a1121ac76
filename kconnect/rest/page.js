"use strict";
// The list of operations takes the whole of a small screen: there it begins closed.
if (matchMedia("(max-width: 60rem)").matches) document.querySelector("nav details").open = false;

const search = document.getElementById("search");
search.hidden = false;
search.addEventListener("input", () => {
  const words = search.value.toLowerCase().split(/\s+/);
  for (const item of document.querySelectorAll("nav li")) {
    const text = document.getElementById(item.firstChild.hash.slice(1)).textContent.toLowerCase();
    item.hidden = !words.every((word) => text.includes(word));
  }
  for (const title of document.querySelectorAll("nav h2")) {
    title.hidden = !title.nextElementSibling.querySelector("li:not([hidden])");
  }
});

// Copying needs https or this machine; elsewhere there is no clipboard, and no button.
if (navigator.clipboard) {
  for (const example of document.querySelectorAll(".example")) {
    const button = document.createElement("button");
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(example.querySelector("pre").textContent);
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
    example.append(button);
  }
}
