// Package oob connects requests with the out-of-band interactions that they cause: it gives requests names of an
// out-of-band server (Names), keeps what operators need to judge an interaction that comes later (Saved), and asks the
// server for interactions while a scan runs (Session).
package oob

import (
	"regexp"
	"strings"

	"github.com/vedette-sec/vedette/internal/oast"
)

// Marker is the name whose value is a fresh name of the out-of-band server; up to three numbers may follow it, each
// after an underscore (template language 1.5).
const Marker = "interactsh-url"

var markerForm = regexp.MustCompile(`^interactsh-(url|id)((?:_[0-9]+){0,3})$`)

// Name is a name that nobody was told yet.
type Name struct {
	ID      string // as interactions have it (oast.Interaction.UniqueID)
	Address string // to give to a target: ID.DOMAIN, or ADDRESS:PORT/ID
	Server  string // the domain, or the address and port
}

// Source makes a new name; false if it cannot.
type Source func() (Name, bool)

// NamesOf makes names of a session.
func NamesOf(n oast.Names) Source {
	return func() (Name, bool) {
		id, address := n.URL()
		return Name{ID: id, Address: address, Server: n.Host}, true
	}
}

// Names are the names in one request. They belong to one goroutine; a nil *Names has none and makes none.
type Names struct {
	source Source
	used   []string
	last   map[string]Name // by the suffix of the marker
}

// NewNames makes Names; nil without a source.
func NewNames(source Source) *Names {
	if source == nil {
		return nil
	}
	return &Names{source: source, last: map[string]Name{}}
}

// Lookup gives a marker a new name each time. It is for texts that are sent.
func (n *Names) Lookup(marker string) (any, bool) {
	if n == nil || !strings.HasPrefix(marker, Marker) {
		return nil, false
	}
	m := markerForm.FindStringSubmatch(marker)
	if m == nil || len(n.used) >= maxNames {
		return nil, false
	}
	name, ok := n.source()
	if !ok {
		return nil, false
	}
	n.used, n.last[m[2]] = append(n.used, name.ID), name
	return name.Address, true
}

// maxNames bounds the names of one request.
const maxNames = 1000

// Sent is what operators know of the names that were sent: interactsh-url and interactsh-id, both with the number of
// their marker, and interactsh-server. Of several names for one marker it is the last.
func (n *Names) Sent(name string) (any, bool) {
	if n == nil || !strings.HasPrefix(name, "interactsh-") {
		return nil, false
	}
	if name == "interactsh-server" {
		for _, one := range n.last {
			return one.Server, true
		}
		return nil, false
	}
	m := markerForm.FindStringSubmatch(name)
	if m == nil {
		return nil, false
	}
	one, ok := n.last[m[2]]
	if m[1] == "id" {
		return one.ID, ok
	}
	return one.Address, ok
}

// Take returns the IDs since the last Take.
func (n *Names) Take() []string {
	if n == nil {
		return nil
	}
	ids := n.used
	n.used = nil
	return ids
}
