package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/discover"
)

// Change is the difference of one asset between two runs.
type Change struct {
	Type     string        `json:"type"` // new, gone or changed
	Host     string        `json:"host"`
	Port     int           `json:"port,omitempty"`
	Protocol string        `json:"protocol,omitempty"`
	Fields   []FieldChange `json:"fields,omitempty"` // of a changed one
}

// FieldChange is a changed field of an asset.
type FieldChange struct {
	Name string `json:"name"`
	From string `json:"from"`
	To   string `json:"to"`
}

// comparedFields are the fields that are compared, by name. Lists have no order.
func comparedFields(a discover.Asset) [][2]string {
	list := func(words []string) string { return strings.Join(slices.Sorted(slices.Values(words)), ", ") }
	certificate, status := "", ""
	if a.StatusCode != 0 {
		status = strconv.Itoa(a.StatusCode)
	}
	if a.TLS != nil {
		certificate = fmt.Sprintf("%s of %s until %s", a.TLS.Serial, a.TLS.SubjectCN,
			a.TLS.NotAfter.UTC().Format("2006-01-02"))
	}
	return [][2]string{
		{"ip", list(a.IP)}, {"cname", strings.Join(a.CNAME, ", ")}, {"service", a.Service}, {"version", a.Version},
		{"status_code", status}, {"title", a.Title}, {"webserver", a.Webserver}, {"technologies", list(a.Technologies)},
		{"redirect_location", a.Redirect}, {"certificate", certificate},
	}
}

// Observations are the compared fields of what one run saw.
type Observations map[string]observation

type observation struct {
	host, protocol string
	port           int
	fields         [][2]string
}

// Add adds an asset; of one that is seen twice the last counts.
func (l Observations) Add(a discover.Asset) {
	l[fmt.Sprintf("%s %d %s", a.Host, a.Port, a.Protocol)] = observation{a.Host, a.Protocol, a.Port, comparedFields(a)}
}

// Diff is the difference between an earlier run and a later one, by host and port.
func Diff(before, after Observations) (out []Change) {
	for key, now := range after {
		c := Change{Host: now.host, Port: now.port, Protocol: now.protocol, Type: "new"}
		if was, known := before[key]; known {
			c.Type = "changed"
			for i, f := range now.fields {
				if f[1] != was.fields[i][1] {
					c.Fields = append(c.Fields, FieldChange{f[0], was.fields[i][1], f[1]})
				}
			}
			if len(c.Fields) == 0 {
				continue
			}
		}
		out = append(out, c)
	}
	for key, was := range before {
		if _, still := after[key]; !still {
			out = append(out, Change{Host: was.host, Port: was.port, Protocol: was.protocol, Type: "gone"})
		}
	}
	slices.SortFunc(out, func(a, b Change) int {
		return cmp.Or(strings.Compare(a.Host, b.Host), a.Port-b.Port, strings.Compare(a.Protocol, b.Protocol))
	})
	return out
}
