package jobs

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/core/signer"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/engine/templates"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/isolate"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// reaching is a program that asks its target, and another address, through the proxy that it is given.
const reaching = `id: %[1]s
info: {name: n, author: a, severity: high}
code:
  - engine: [sh]
    source: |
      read -r target || true
      ask() { printf 'CONNECT %%s HTTP/1.1\r\nHost: %%s\r\n\r\n' "$1" "$1" | socat -t2 - TCP4:127.0.0.1:3128 | head -1; }
      echo "target $(ask "${target#http://}" | cut -d' ' -f2)"
      echo "other $(ask %[2]s | cut -d' ' -f2)"
      test -e %[3]s && echo "the server's files are there"
      exit 0
    extractors: [{type: regex, regex: ['(?s).*']}]
`

// signed is the text of a template with a signature, and the certificate that verifies it.
func signed(t *testing.T, text string) (signedText, certificate string) {
	t.Helper()
	public, private, err := templates.NewKeys("Ada", nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	key, err := templates.NewSigner(private, nil)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "t.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if how, err := key.Sign(file); err != nil || how != templates.SignedNow {
		t.Fatal(how, err)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw), string(public)
}

// A server runs the programs of a template where the operator allows it and a key of the team has signed it: isolated,
// with the target within reach and nothing else. Everywhere else the coverage says why not, of a key of another team, too.
func TestAServerRunsSignedPrograms(t *testing.T) {
	if err := isolate.Check(t.Context()); err != nil {
		t.Skip(err)
	}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		base, _ := site(t, http.NotFoundHandler())
		other, err := net.Listen("tcp", "127.0.0.2:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { other.Close() })
		here, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		text, certificate := signed(t, fmt.Sprintf(reaching, "signed", other.Addr(), here))
		_, strangers := signed(t, fmt.Sprintf(reaching, "strange", other.Addr(), here))
		o := openEngine(t, d, model.Config{}, child.Config{
			Args: []string{engineCommand, strconv.Itoa(512 << 20)}, Memory: 512 << 20,
		})
		keys := func(allowed bool) *signer.Signers {
			s, err := signer.New(d, signer.Config{Allowed: allowed})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		tried := func(text string) (findings int, why string) {
			s, err := o.scans.Create(o.ctx, scan.NewScan{Config: scan.Config{Targets: []string{base},
				Inline: []scan.Inline{{Name: "signed.yaml", Contents: text}}}})
			if err != nil {
				t.Fatal(err)
			}
			s = o.scanEnds(t, s.ID)
			c, err := o.scans.FindCoverage(o.ctx, s.ID, scan.CoverageFilter{}, page.Window{Limit: 10})
			if err == nil && len(c.Cells) == 0 && c.Counts[engine.Tested] == 1 { // the list has the gaps alone
				return s.Results(), string(engine.Tested) + " "
			}
			if err != nil || len(c.Cells) != 1 {
				t.Fatal(c, err)
			}
			return s.Results(), fmt.Sprint(c.Cells[0].State, " ", c.Cells[0].Reason)
		}
		o.scans.Signers = keys(false)
		if n, why := tried(text); n != 0 || why != string(engine.Skipped)+" "+signer.NotAllowed {
			t.Errorf("not allowed: %d findings, %s", n, why)
		}
		o.scans.Signers = keys(true)
		if _, err := o.scans.Signers.Add(o.ctx, "", strangers); err != nil {
			t.Fatal(err)
		}
		if n, why := tried(text); n != 0 || why != string(engine.Skipped)+" "+signer.NotTrusted {
			t.Errorf("signed by another key: %d findings, %s", n, why)
		}
		stranger := o.stranger(t, d)
		if _, err := o.scans.Signers.Add(stranger, "", certificate); err != nil {
			t.Fatal(err)
		}
		if n, why := tried(text); n != 0 || why != string(engine.Skipped)+" "+signer.NotTrusted {
			t.Errorf("trusted by another team: %d findings, %s", n, why)
		}
		if _, err := o.scans.Signers.Add(o.ctx, "", certificate); err != nil {
			t.Fatal(err)
		}
		if n, why := tried(strings.Replace(text, "exit 0", "exit 1", 1)); n != 0 || why != string(engine.Skipped)+" "+signer.NotTrusted {
			t.Errorf("changed since: %d findings, %s", n, why)
		}
		if n, why := tried(text); n != 1 || why != string(engine.Tested)+" " {
			t.Fatalf("signed: %d findings, %s", n, why)
		}
		found := o.found(t, finding.Filter{})[0]
		if got := strings.TrimSpace(strings.Join(found.Event.ExtractedResults, "")); got != "target 200\nother 403" {
			t.Errorf("the program reached: %q", got)
		}
	})
}

// stranger is an admin of another team.
func (o office) stranger(t *testing.T, d *db.DB) context.Context {
	t.Helper()
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: "eve@example.com", Admin: true})
	if err != nil {
		t.Fatal(err)
	}
	return account.WithCaller(t.Context(), account.Caller{UserID: u.ID, TeamID: u.TeamID, Role: u.Role})
}
