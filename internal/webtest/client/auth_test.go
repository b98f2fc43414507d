package client_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// challenge is the second message of NTLM, as servers send it (MS-NLMP, 2.2.1.2).
func challenge() string {
	var b bytes.Buffer
	b.WriteString("NTLMSSP\x00")
	info := []byte{2, 0, 4, 0, 'A', 0, 'B', 0, 0, 0, 0, 0}
	for _, part := range []any{uint32(2), uint16(4), uint16(4), uint32(48), uint32(0x1 | 0x4 | 0x200 | 0x80000 | 0x800000),
		[8]byte{1, 2, 3, 4, 5, 6, 7, 8}, [8]byte{}, uint16(len(info)), uint16(len(info)), uint32(52)} {
		_ = binary.Write(&b, binary.LittleEndian, part)
	}
	b.WriteString("A\x00B\x00")
	b.Write(info)
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// ntlm lets in connections that have sent the third message.
func ntlm() http.HandlerFunc {
	var mu sync.Mutex
	known := map[string]bool{}
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		said, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(r.Header.Get("Authorization"), "NTLM "))
		switch {
		case len(said) > 12 && said[8] == 3:
			known[r.RemoteAddr] = true
			fmt.Fprint(w, "hello ", r.FormValue("a"))
		case known[r.RemoteAddr] && len(said) == 0:
			fmt.Fprint(w, "hello ", r.FormValue("a"))
		case len(said) > 12 && said[8] == 1:
			w.Header().Set("WWW-Authenticate", "NTLM "+challenge())
			w.WriteHeader(http.StatusUnauthorized)
		default:
			w.Header().Set("WWW-Authenticate", "NTLM")
			w.WriteHeader(http.StatusUnauthorized)
		}
	}
}

// digest takes an answer of the right form for its own nonce, and counts the challenges.
func digest(challenges *int) http.HandlerFunc {
	var mu sync.Mutex
	return func(w http.ResponseWriter, r *http.Request) {
		said := r.Header.Get("Authorization")
		if strings.HasPrefix(said, "Digest ") && strings.Contains(said, `username="bob"`) && strings.Contains(said, `nonce="n1"`) &&
			strings.Contains(said, "response=") && strings.Contains(said, `uri="`+r.URL.RequestURI()+`"`) {
			fmt.Fprint(w, "hello ", r.FormValue("a"))
			return
		}
		mu.Lock()
		*challenges++
		mu.Unlock()
		w.Header().Set("WWW-Authenticate", `Digest realm="x", nonce="n1", qop="auth", algorithm=MD5`)
		w.WriteHeader(http.StatusUnauthorized)
	}
}

func TestHTTPAuthentication(t *testing.T) {
	challenges := 0
	for scheme, serve := range map[string]http.HandlerFunc{client.Digest: digest(&challenges), client.NTLM: ntlm()} {
		c, address := open(t, client.Config{}, serve)
		at, _ := url.Parse(address)
		user := client.NewUser("bob")
		user.Authenticate(at.Host, scheme, "bob", "pass word")
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				r := message.From(http.MethodPost, at)
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				r.Body = []byte("a=1")
				for range 3 {
					answer, err := c.Send(t.Context(), r, client.Options{As: user})
					if err != nil || answer.Status != http.StatusOK || string(answer.Body) != "hello 1" {
						t.Errorf("%s: %+v, %v", scheme, answer, err)
					}
				}
			})
		}
		group.Wait()
		own := message.From(http.MethodGet, at).With("Authorization", "Bearer x")
		if answer, err := c.Send(t.Context(), own, client.Options{As: user}); err != nil || answer.Status != http.StatusUnauthorized && scheme == client.Digest {
			t.Errorf("%s: what a request says itself is not sent: %+v, %v", scheme, answer, err)
		}
		if answer, _ := c.Send(t.Context(), message.From(http.MethodGet, at), client.Options{}); answer.Status != http.StatusUnauthorized && scheme == client.Digest {
			t.Errorf("%s: nobody is let in", scheme)
		}
	}
	if challenges > 4+2 {
		t.Errorf("%d challenges: they are not kept", challenges)
	}
}
