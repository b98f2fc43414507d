// Package starter is the catalogue that every Vedette carries in its binary: templates
// of our own that are harmless (GET, HEAD and OPTIONS, no change of state) and precise
// (a finding rests on the structure of what was found, not on a word in a page).
// All of them together send at most 300 requests to a host, redirects included; those of
// the category inject only to addresses with a query, one parameter at a time.
//
// One folder a category; the folder's name is among the tags of its templates. The
// table of all templates is docs/starter-catalogue.md, and testdata holds at least one
// server that must be found and one tempting look-alike that must not, for each.
package starter

import (
	"embed"
	"io/fs"
)

//go:embed */*.yaml
var files embed.FS

// FS is the catalogue: CATEGORY/ID.yaml, read-only.
func FS() fs.FS { return files }
