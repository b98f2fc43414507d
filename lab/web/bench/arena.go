package bench

import (
	_ "embed"
	"net/url"
	"strings"

	"github.com/vedette-sec/vedette/lab/web"
)

// arenaTable has the cases of the arena, a line with fields separated by tabs for each:
//
//   - path: of the page; {m} is get and post for the source both, * the last part of a path for the source path
//   - class
//   - label: weak, looks, or - for a page that belongs to a case and is none
//   - source: get, post, both, header, cookie, name (of a parameter), path, filename, content (of a file), body, hidden,
//     none
//   - param: the name of the input, and further ones of its form, as name&other=value
//   - value: the usual one; {self} is the address of the application, {host} its host and port
//   - how: what the page does with it, for lab/web/java/arena alone
//   - proof: a value, or a whole proof when it begins with "- "
//   - expect: as web.Flow.Prove takes it
//
//go:embed arena.tsv
var arenaTable string

const arenaFields = 9

func arenaCases() (all []web.Case) {
	for line := range strings.Lines(arenaTable) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != arenaFields || f[2] == "-" {
			continue
		}
		methods := []string{f[3]}
		if f[3] == "both" {
			methods = []string{"get", "post"}
		}
		for _, method := range methods {
			param, more, _ := strings.Cut(f[4], "&")
			c := web.Case{Path: strings.ReplaceAll(f[0], "{m}", method), Class: f[1], Param: param, Value: f[5],
				True: f[2] == "weak", Expect: f[8]}
			c.Proof = arenaProof(&c, method, more, f[7])
			all = append(all, c)
		}
	}
	return all
}

// arenaProof is a proof that sends a value in the input of a case.
func arenaProof(c *web.Case, source, more, value string) string {
	if strings.HasPrefix(value, "- ") {
		return value
	}
	encoded := strings.ReplaceAll(url.QueryEscape(value), "%7Bport%7D", "{port}")
	form := c.Param + "=" + encoded
	if more != "" {
		form += "&" + more
	}
	switch source {
	case "post":
		return "- POST " + c.Path + " " + form
	case "header":
		return "- [" + c.Param + ": " + encoded + "] GET " + c.Path
	case "cookie":
		return "- [Cookie: " + form + "] GET " + c.Path
	case "name":
		return "- POST " + c.Path + " " + encoded + "=" + c.Param
	case "filename":
		return "- FILE " + c.Path + " " + c.Param + " " + value + " text/plain q7"
	case "content":
		return "- FILE " + c.Path + " " + c.Param + " a.txt text/plain " + value
	case "body":
		return "- POST " + c.Path + " " + value
	}
	return "- GET " + c.Path + "?" + form
}
