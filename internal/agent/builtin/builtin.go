// Package builtin makes a plan from an instruction in plain English without a language
// model: from the targets, intents, CVE ids, technologies, severities and limits it
// recognises. What it does not recognise it says.
package builtin
