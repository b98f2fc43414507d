package network

import (
	"net/netip"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/vedette-sec/vedette/internal/importer/kit"
)

// subfinder reads one JSON object a line, and plain lists of names.
func subfinder() kit.Format {
	return kit.Format{
		Name: "subfinder", Title: "subfinder", Tool: "subfinder", Kinds: []string{"JSONL", "text"}, Empty: true,
		Example: "subfinder -d DOMAIN -oJ -o report.jsonl", Class: kit.ClassExposure,
		Signs: []string{"json:host json:input json:source !json:url !json:port",
			"json:host json:input json:sources !json:url"},
		Read: func(in *kit.Input, out *kit.Out) error {
			return in.Lines(func(line string, n int) error {
				line = strings.TrimSpace(line)
				if line == "" {
					return nil
				}
				r := kit.Record{Line: n, Check: "subdomain", Severity: kit.Info, Status: kit.Open}
				r.Place.Host = line
				if line[0] == '{' {
					if !gjson.Valid(line) || len(line) > 64<<10 {
						return out.Reject(n, "", "the line is not a JSON object")
					}
					v := kit.Value{Result: gjson.Parse(line)}
					r.Place.Host, r.Place.IP = v.Text("host"), v.Text("ip")
					r.Place.Component = v.Text("input")
					r.Tags = append(v.Texts("sources"), v.Texts("source")...)
				}
				if !isName(r.Place.Host) {
					return out.Reject(n, "", "it is not the name of a host")
				}
				r.Title = "Name found: " + r.Place.Host
				return out.Add(r)
			})
		},
	}
}

// isName says whether a text can be the name of a host: letters, digits, - and _ between dots, one dot at least.
func isName(text string) bool {
	if _, err := netip.ParseAddr(text); err == nil {
		return true
	}
	if len(text) > 253 || !strings.Contains(text, ".") {
		return false
	}
	for _, c := range text {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' &&
			c != '*' && c < 0x80 {
			return false
		}
	}
	return true
}
