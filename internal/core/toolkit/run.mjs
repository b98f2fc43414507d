// Loads the tool, hands it its input and writes its output after the mark.
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const asked = JSON.parse(Buffer.concat(chunks).toString("utf8"));
const write = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr);
for (const name of ["log", "info", "debug", "warn", "trace", "dir"]) console[name] = console.error;
let answer;
try {
  const { run } = await import("/tool/tool.mjs");
  if (typeof run !== "function") throw new Error("The tool exports no function run.");
  const output = await run(asked.input);
  answer = { output: output === undefined ? null : output };
  answer = JSON.stringify(answer);
} catch (err) {
  answer = JSON.stringify({ error: String((err && err.stack) || err) });
}
write(asked.mark + answer, () => process.exit(0));
