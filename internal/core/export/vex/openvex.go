package vex

import (
	"bufio"
	"cmp"
	"io"
	"net/url"
	"strconv"
	"strings"
)

// OpenVEX writes what was collected as an OpenVEX 0.2 document.
func (c *Collected) OpenVEX(out io.Writer, d Document) error {
	w := bufio.NewWriter(out)
	head := encode(object{
		"@context":  "https://openvex.dev/ns/v0.2.0",
		"@id":       "urn:uuid:" + d.ID,
		"author":    cmp.Or(strings.TrimSpace(d.Author), "Vedette"),
		"timestamp": stamp(d.At),
		"version":   1,
		"tooling":   "Vedette " + d.Version,
	})
	_, _ = w.Write(head[:len(head)-1]) // errors stay until Flush
	_, _ = w.WriteString(",\"statements\":[")
	separator := ""
	for _, g := range c.groups {
		for _, n := range g.order {
			_, _ = w.WriteString(separator)
			_, _ = w.Write(encode(c.statement(g, n)))
			separator = ",\n"
		}
	}
	_, _ = w.WriteString("]}\n")
	return w.Flush()
}

func (c *Collected) statement(g *group, n int) object {
	s, seen := g.why[n], g.seen[n]
	vulnerability := object{"name": cmp.Or(g.id, "unknown")}
	if g.isCVE {
		vulnerability["@id"] = "https://nvd.nist.gov/vuln/detail/" + g.id
	}
	if g.first.Name != "" {
		vulnerability["description"] = g.first.Name
	}
	// An IRI without a network location: the host may be no valid one.
	out := object{
		"vulnerability": vulnerability,
		"timestamp":     stamp(seen.CreatedAt),
		"last_updated":  stamp(seen.UpdatedAt),
		"products":      []object{{"@id": "urn:vedette:product:" + url.PathEscape(c.products[n])}},
		"status":        s.openVEX,
		"status_notes":  s.says + " Seen at " + seen.Place + ".",
	}
	switch s.openVEX {
	case "not_affected":
		out["impact_statement"] = s.says
	case "affected":
		out["action_statement"] = strings.TrimSpace(
			s.action + " " + cmp.Or(seen.Remediation, "See the description of the finding."),
		)
	}
	return out
}

func cweID(n int) string { return "CWE-" + strconv.Itoa(n) }
