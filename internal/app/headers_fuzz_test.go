package app

import (
	"net/http"
	"strings"
	"testing"
)

// FuzzHeaders sends any text in the headers that the server reads: credentials, cookies, what a body is and what a proxy
// says of a client.
func FuzzHeaders(f *testing.F) {
	attackers := attackers(f, "sqlite")
	names := []string{"Authorization", "Cookie", "Content-Type", "Accept", "X-Forwarded-For", "X-Api-Key", "Idempotency-Key",
		"Content-Encoding", "X-Team-ID", "Origin", "Range", "X-Sign-In-Ticket", "If-None-Match", "Sec-Fetch-Site"}
	for i := range names {
		f.Add(uint8(i), "x", `{"task":"x"}`)
	}
	f.Add(uint8(0), "Bearer eyJhbGciOiJub25lIn0.e30.", "")
	f.Add(uint8(1), "__Host-vedette=x; __Host-vedette=y; =; a=\"", "")
	f.Add(uint8(2), "multipart/form-data; boundary=\"x\"", "--x\r\nContent-Disposition: form-data; name=a\r\n\r\nb\r\n--x--")
	f.Fuzz(func(t *testing.T, i uint8, value, body string) {
		a := *attackers["agent"]
		h := *a.testServer
		h.t, a.testServer = t, &h
		value = strings.Map(func(r rune) rune {
			if r < ' ' && r != '\t' || r == 0x7f {
				return -1
			}
			return r
		}, value)
		for _, op := range a.doc.operations() {
			if op.OperationID == "create-task" || op.OperationID == "list-tasks" {
				a.send(t, bad{name: "fuzz", op: op, path: a.path(op), body: []byte(body),
					header: http.Header{names[int(i)%len(names)]: {value}}})
			}
		}
	})
}
