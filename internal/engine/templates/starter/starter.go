// Package starter is the catalogue in the binary: our own templates, harmless (GET, HEAD and OPTIONS, no change of
// state) and precise (a finding rests on the structure of what was found, not on a word in a page). Together they send
// at most 300 requests to a host, redirects included; the category inject only tests addresses with a query, one
// parameter at a time.
//
// Each category is a folder and a tag. docs/reference/starter-catalogue.md lists all templates; testdata has, for each,
// at least one server that must be found and one look-alike that must not.
package starter

import (
	"embed"
	"io/fs"
)

//go:embed */*.yaml
var files embed.FS

// FS is the catalogue: CATEGORY/ID.yaml, read-only.
func FS() fs.FS { return files }
