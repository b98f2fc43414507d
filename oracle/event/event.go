// Package event has the findings of both programs in one comparable format: what matched, where, and
// what was extracted.
package event

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Event is the part of a finding on which the programs must agree.
type Event struct {
	Template  string   `json:"template-id"`
	Matcher   string   `json:"matcher-name,omitempty"`
	Extractor string   `json:"extractor-name,omitempty"`
	Extracted []string `json:"extracted-results,omitempty"` // sorted, without repetition
	At        string   `json:"matched-at"`
	Host      string   `json:"host"`
	Port      string   `json:"port"`
	Path      string   `json:"-"` // of the template
}

// Set is a set of events.
type Set map[string]Event

// Key is the event as one text.
func (e Event) Key() string {
	return strings.Join([]string{e.Template, e.Matcher, e.Extractor, strings.Join(e.Extracted, "\x01"), e.At, e.Host,
		e.Port}, "\x00")
}

// Add puts an event into the set, with its values sorted.
func (s Set) Add(e Event) {
	e.Extracted = slices.Compact(slices.Sorted(slices.Values(e.Extracted)))
	s[e.Key()] = e
}

// SetOf is the set of events.
func SetOf(events []Event) Set {
	s := Set{}
	for _, e := range events {
		s.Add(e)
	}
	return s
}

// Minus is what is in s but not in other, sorted.
func (s Set) Minus(other Set) (rest []Event) {
	for key, e := range s {
		if _, both := other[key]; !both {
			rest = append(rest, e)
		}
	}
	slices.SortFunc(rest, func(a, b Event) int { return strings.Compare(a.Key(), b.Key()) })
	return rest
}

// Read reads the JSON lines that both programs print; each gives it to add.
func Read(r io.Reader, add func(Event)) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if len(strings.TrimSpace(string(line))) > 0 {
			var e struct {
				Event
				TemplatePath string `json:"template-path"`
			}
			if bad := json.Unmarshal(line, &e); bad != nil {
				return fmt.Errorf("%w in %.200q", bad, line)
			}
			e.Event.Path = e.TemplatePath
			add(e.Event)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
