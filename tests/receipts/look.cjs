// Opens a page in Chromium as people do, and prints as JSON what was seen. Arguments: the page, the
// file of axe, a folder for pictures.
const fs = require("fs");
const { chromium } = require("playwright-core");

const [page, axe, pictures] = process.argv.slice(2);
const flags = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
];
const views = [
  { name: "light", colorScheme: "light", width: 1100 },
  { name: "dark", colorScheme: "dark", width: 1100 },
  { name: "phone", colorScheme: "light", width: 360 },
  { name: "forced", colorScheme: "dark", width: 800, forcedColors: "active" },
];

function listen(tab, seen) {
  tab.on("console", (message) => seen.push(message.text()));
  tab.on("pageerror", (error) => seen.push(String(error)));
  tab.on("dialog", (dialog) => { seen.push("a dialog"); dialog.dismiss(); });
  tab.on("request", (request) => {
    if (request.url() !== `file://${page}`) seen.push(`asked for ${request.url()}`);
  });
}

async function look(browser, view) {
  const { name, width, ...options } = view;
  const context = await browser.newContext({
    ...options, viewport: { width, height: 900 }, bypassCSP: true,
  });
  const tab = await context.newPage();
  const messages = [];
  listen(tab, messages);
  await tab.goto(`file://${page}`);
  if (pictures) await tab.screenshot({ path: `${pictures}/${name}.png` });
  await tab.addScriptTag({ content: fs.readFileSync(axe, "utf8") });
  const violations = [];
  for (const open of [false, true]) {
    if (open) {
      await tab.evaluate(() => document.querySelectorAll("details").forEach((each) => { each.open = true; }));
    }
    const found = await tab.evaluate(() => axe.run({ resultTypes: ["violations"] }));
    for (const each of found.violations) violations.push(`${each.id}: ${each.nodes[0].html.slice(0, 200)}`);
  }
  const overflow = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  await context.close();
  return { name, messages, violations, overflow };
}

async function asIs(browser) {
  // With the page's own policy in force.
  const context = await browser.newContext({ viewport: { width: 1000, height: 900 } });
  const tab = await context.newPage();
  const messages = [];
  listen(tab, messages);
  await tab.goto(`file://${page}`);
  await tab.keyboard.press("Tab");
  const first = await tab.evaluate(() => document.activeElement.tagName);
  const count = () => tab.evaluate(() => [...document.querySelectorAll("details:not([open]) > :not(summary)")]
    .filter((each) => each.checkVisibility() && each.getBoundingClientRect().height > 0).length);
  const closed = await tab.evaluate(() => document.querySelectorAll("details:not([open])").length);
  const onScreen = await count();
  await tab.emulateMedia({ media: "print" });
  const onPaper = await count();
  await tab.emulateMedia({ media: null });
  const paper = await tab.pdf({ format: "A4" });
  if (pictures) fs.writeFileSync(`${pictures}/paper.pdf`, paper);
  await context.close();
  return { messages, first, closed, onScreen, onPaper, paper: paper.length };
}

(async () => {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: flags });
  const seen = [];
  for (const view of views) seen.push(await look(browser, view));
  const own = await asIs(browser);
  await browser.close();
  console.log(JSON.stringify({ views: seen, own }));
})().catch((error) => { console.error(error); process.exit(1); });
