// Writes src/api.ts, the types of what contextd takes and gives, from its OpenAPI document.
//
//     node scripts/generate.mjs           # writes
//     node scripts/generate.mjs --check   # fails where the file is another one
import { readFileSync, writeFileSync } from "node:fs";

const document = new URL("../../../openapi/openapi.json", import.meta.url);
const written = new URL("../src/api.ts", import.meta.url);

/** The file's text. Pages are left out: `pages.ts` has one type for all of them. */
function generate({ components: { schemas } }) {
  const names = Object.keys(schemas).filter((name) => !name.startsWith("Page_"));
  const head = "// Written by scripts/generate.mjs from openapi/openapi.json; not to be edited.\n";
  return [head, ...names.map((name) => declaration(name, schemas[name]))].join("\n");
}

function declaration(name, schema) {
  const type = typeOf(schema, "");
  const text = type.startsWith("{") && type.endsWith("}") ? `interface ${name} ${type}` : `type ${name} = ${type};`;
  return `${comment(schema.description, "")}export ${text}\n`;
}

function typeOf(schema, indent) {
  if (schema.$ref) return schema.$ref.split("/").pop();
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) return union(schema.enum.map((value) => JSON.stringify(value)));
  const parts = schema.oneOf ?? schema.anyOf;
  if (parts) return union(parts.map((part) => typeOf(part, indent)));
  if (schema.allOf) return schema.allOf.map((part) => typeOf(part, indent)).join(" & ");
  return union([schema.type ?? "unknown"].flat().map((type) => plain(type, schema, indent)));
}

function plain(type, schema, indent) {
  switch (type) {
    case "integer":
      return "number";
    case "array":
      return `${grouped(typeOf(schema.items, indent))}[]`;
    case "object":
      return objectType(schema, indent);
    default:
      return type;
  }
}

function objectType({ properties = {}, required = [], additionalProperties }, indent) {
  const inner = `${indent}  `;
  const members = Object.entries(properties).map(([name, schema]) => {
    const mark = required.includes(name) ? "" : "?";
    return `${comment(schema.description, inner)}${inner}${name}${mark}: ${typeOf(schema, inner)};\n`;
  });
  const others = typeof additionalProperties === "object" ? typeOf(additionalProperties, inner) : "unknown";
  const isOpen = additionalProperties ?? members.length === 0;
  if (isOpen) members.push(`${inner}[key: string]: ${others};\n`);
  return `{\n${members.join("")}${indent}}`;
}

function union(types) {
  return [...new Set(types)].join(" | ");
}

function grouped(type) {
  return /[|&]/.test(type) && !type.startsWith("{") ? `(${type})` : type;
}

function comment(description, indent) {
  if (!description) return "";
  const lines = description.trim().replaceAll("*/", "*\\/").split("\n");
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */\n`].join("\n");
}

const text = generate(JSON.parse(readFileSync(document, "utf8")));
if (!process.argv.includes("--check")) {
  writeFileSync(written, text);
} else if (readFileSync(written, "utf8") !== text) {
  console.error("src/api.ts is not what openapi/openapi.json says: npm run generate");
  process.exitCode = 1;
}
