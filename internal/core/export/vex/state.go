// Package vex writes findings as VEX documents (Vulnerability Exploitability eXchange): CycloneDX 1.6, CSAF 2.0 and
// OpenVEX 0.2. A product is a host with its port; a vulnerability is a CVE, or else the template that found it.
//
// CycloneDX has an entry for each finding and is streamed. CSAF and OpenVEX state one thing about a vulnerability of a
// product, so their findings are collected first: of several findings of one vulnerability at one product the worst
// status counts, because a document that contradicts itself is invalid (CSAF) or read by its last statement (OpenVEX).
package vex

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/export/fact"
	"github.com/vedette-sec/vedette/internal/core/finding"
)

// MaxCollected is how many findings CSAF and OpenVEX take: they are collected before they are written.
const MaxCollected = 100_000

// Document is what the head of a document says.
type Document struct {
	Title   string
	Author  string // the team
	ID      string // a UUID
	At      time.Time
	Version string // of this program
}

// state is what a decision about a finding is called.
type state struct {
	cycloneDX string
	response  string // of CycloneDX; empty: none
	csaf      string
	openVEX   string
	says      string // in words
	action    string // what will be done, of what is affected
}

// states are all decisions. What nobody has looked at is under investigation, although it was seen: VEX says what
// people have decided.
var states = map[finding.Status]state{
	finding.Open: {"in_triage", "", "under_investigation", "under_investigation",
		"It was found, and nobody has decided about it yet.", ""},
	finding.Triaged: {"exploitable", "", "known_affected", "affected", "A person has confirmed it.", ""},
	finding.FixInProgress: {"exploitable", "update", "known_affected", "affected", "It is being fixed.",
		"A fix is in progress."},
	finding.AcceptedRisk: {"exploitable", "will_not_fix", "known_affected", "affected", "The risk was accepted.",
		"No fix is planned: the risk was accepted."},
	finding.Fixed: {"resolved", "", "fixed", "fixed", "It is marked as fixed.", ""},
	finding.FalsePositive: {"false_positive", "", "known_not_affected", "not_affected",
		"A person has decided that it is a false positive.", ""},
	finding.Duplicate: {"in_triage", "", "under_investigation", "under_investigation",
		"It is a duplicate of another finding.", ""},
}

// stateOf is the state of a status; of an unknown one that of an open finding.
func stateOf(s finding.Status) state {
	if found, ok := states[s]; ok {
		return found
	}
	return states[finding.Open]
}

// worst orders statuses for one vulnerability of one product: affected before under investigation before fixed before
// not affected.
var worst = []string{"known_affected", "under_investigation", "fixed", "known_not_affected"}

// vulnerability is the id of a finding's vulnerability, and whether it is a CVE.
func vulnerability(f *fact.Finding) (id string, isCVE bool) {
	if len(f.CVEs) > 0 {
		return f.CVEs[0], true
	}
	return cmp.Or(strings.TrimSpace(f.TemplateID), "unknown"), false
}

// product is the name of the product of a finding.
func product(f *fact.Finding) string {
	if f.Host == "" {
		if f.Target == "" {
			return "unknown"
		}
		return fact.Clip(f.Target, 300)
	}
	return fact.Clip(f.Address(), 300)
}

const homePage = "https://github.com/vedette-sec/vedette"

func encode(v any) []byte {
	out, err := json.Marshal(v)
	if err != nil { // of maps, slices and texts it never fails
		return []byte("null")
	}
	return out
}

func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05Z") }

type object = map[string]any
