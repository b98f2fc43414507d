package listing

import (
	"slices"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/list"
)

func TestEntry(t *testing.T) {
	row := Entry(7, Facets{Severity: "high", Scan: "s", Host: "a.b.example", Port: 443, Template: "X-1", Name: "Name",
		Tags: "t1,T2", Repeat: true})
	for _, want := range []list.Value{
		{Facet: "severity", Value: "4high"}, {Facet: "port", Value: "00443"}, {Facet: "text", Value: "x-1"},
		{Facet: "domain", Value: "a.b.example"}, {Facet: "domain", Value: "example"}, {Facet: "tag", Value: "t2"},
		{Facet: "is", Value: "repeat"},
	} {
		if !slices.Contains(row.Values, want) {
			t.Errorf("%v is not in %v", want, row.Values)
		}
	}
	if row.No != 7 || slices.Contains(row.Values, list.Value{Facet: "is", Value: "ticket"}) {
		t.Errorf("%+v", row)
	}
}

// Lists have a weakness once, unless scans, findings or each sighting are asked for.
func TestAsList(t *testing.T) {
	for _, test := range []struct {
		f    Filter
		once bool
	}{
		{Filter{}, true}, {Filter{Hosts: []string{"h"}}, true}, {Filter{Sightings: true}, false},
		{Filter{ScanIDs: []string{"s"}}, false}, {Filter{IDs: []string{}}, false},
	} {
		if got := test.f.AsList().Once; got != test.once {
			t.Errorf("%+v: %t", test.f, got)
		}
	}
}

func TestDerived(t *testing.T) {
	if got := Categories("http", "/home/x/nuclei-templates/http/CVES/2021/a.yaml"); !slices.Equal(got,
		[]string{"http", "http", "cves", "2021"}) {
		t.Errorf("%q", got)
	}
	for host, want := range map[string]bool{"10.1.2.3": true, "::ffff:127.0.0.1": true, "shop.example": false, "intranet": true,
		"192.0.2.1": false, "": false} {
		if got := IsInternal("", host); got != want {
			t.Errorf("%s: %t", host, got)
		}
	}
}
