// Package oast takes in out-of-band interactions: what a target sends to a name or an address that only one request
// told it. Server and Client speak interactsh's client protocol, as version 1.3.1 of interactsh does.
package oast

import (
	"strings"
	"time"
)

// Lengths of the parts of an identifier, in bytes: the correlation id names a session, the nonce one payload of it.
const (
	CorrelationLength = 20
	NonceLength       = 13
	idLength          = CorrelationLength + NonceLength
)

// Limits on what one interaction may hold: maxRaw bytes of what was sent (as many of the answer), ids of one request.
const (
	maxRaw = 16 << 10
	maxIDs = 8
)

// Interaction is one contact with the server, as interactsh's clients read it.
type Interaction struct {
	// Protocol is dns, http, https, smtp, ldap, ftp or tcp.
	Protocol string `json:"protocol"`
	// UniqueID is the identifier that was found, 33 characters in lower case; empty if there was none.
	UniqueID string `json:"unique-id"`
	// FullID is UniqueID with what stood before it in the name: "x.ID" of "x.ID.oast.example".
	FullID string `json:"full-id"`
	// QType is the type of a DNS question, such as AAAA.
	QType string `json:"q-type,omitempty"`
	// RawRequest and RawResponse are what was sent and answered, cut after 16 KiB each.
	RawRequest  string `json:"raw-request,omitempty"`
	RawResponse string `json:"raw-response,omitempty"`
	// SMTPFrom is the sender of a mail.
	SMTPFrom string `json:"smtp-from,omitempty"`
	// RemoteAddress is the address, without a port, of who contacted the server.
	RemoteAddress string    `json:"remote-address"`
	Timestamp     time.Time `json:"timestamp"`
}

// found is an identifier in a text, with what stood before it.
type found struct{ id, full string }

// find returns the identifiers in a text of which known says that their session exists, each once and at most maxIDs.
// Its work grows with the text alone.
func find(text string, known func(correlation string) bool) (all []found) {
	text = strings.ToLower(text)
	for start := 0; start < len(text); {
		end := start
		for end < len(text) && isAlnum(text[end]) {
			end++
		}
		for at := start; at+idLength <= end; at++ {
			if !known(text[at : at+CorrelationLength]) {
				continue
			}
			id := text[at : at+idLength]
			if !has(all, id) {
				all = append(all, found{id, fullOf(text, start, end)})
			}
			if len(all) == maxIDs {
				return all
			}
			at += idLength - 1
		}
		start = end + 1
	}
	return all
}

func has(all []found, id string) bool {
	for _, f := range all {
		if f.id == id {
			return true
		}
	}
	return false
}

// fullOf is the label from start to end with the labels that stand before it in a name, 253 bytes at most.
func fullOf(text string, start, end int) string {
	first := start
	for first > 0 && end-first < 253 && (isAlnum(text[first-1]) || text[first-1] == '.' || text[first-1] == '-' ||
		text[first-1] == '_') {
		first--
	}
	return strings.Clone(strings.TrimLeft(text[first:end], ".-"))
}

func isAlnum(b byte) bool { return b >= 'a' && b <= 'z' || b >= '0' && b <= '9' }

// isCorrelation says whether s is a correlation id.
func isCorrelation(s string) bool {
	if len(s) != CorrelationLength {
		return false
	}
	for i := range len(s) {
		if !isAlnum(s[i]) {
			return false
		}
	}
	return true
}

// cut is the beginning of s, not more than maxRaw bytes.
func cut(s string) string { return strings.ToValidUTF8(s[:min(len(s), maxRaw)], "\uFFFD") }
