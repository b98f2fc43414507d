package app

import (
	"bytes"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// as sends a request for an operation as a person, with a body and required parameters.
func (a *attacker) as(op *operation, p *person, path string) answer {
	a.t.Helper()
	body := ""
	if bodySchema(op) != nil {
		body = string(encode(a.t, a.body(op)))
	}
	return a.do(a.request(op.method, path, p, body))
}

// withoutID is an error answer's body without its id.
func withoutID(got answer) string {
	return string(bytes.ReplaceAll(got.body, []byte(got.header.Get("X-Request-Id")), nil))
}

// TestForeignIDIsLikeAMissingOne sends every operation an id of another team and one that does not
// exist: the answers are the same.
func TestForeignIDIsLikeAMissingOne(t *testing.T) {
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			for _, a := range attackers(t, engine) {
				eve := a.person("eve-"+ids.Random(6), "red", account.Admin)
				for _, op := range a.doc.operations() {
					for _, pair := range a.pairs(op) { // makes what it names
						before := a.state()
						theirs, nobodys := a.as(op, &eve, pair.theirs), a.as(op, &eve, pair.nobodys)
						if a.state() != before {
							t.Errorf("%s %s: a stranger changed something", op.method, pair.theirs)
						}
						if theirs.status != pair.status || nobodys.status != pair.status || withoutID(theirs) != withoutID(nobodys) {
							t.Errorf("%s %s:\na stranger's id: %d %s\na missing one:  %d %s", op.method, pair.theirs, theirs.status,
								theirs.body, nobodys.status, nobodys.body)
						}
						own := a.as(op, &a.admin, pair.theirs)
						if own.status == http.StatusNotFound && !strings.HasSuffix(op.path, "/artifacts") && // its task has not ended
							!strings.HasSuffix(op.path, "/ticket/resolve") && // there is no conflict
							!strings.Contains(op.path, "/comments/") && !strings.HasSuffix(op.path, "/undo") { // there is none
							t.Errorf("%s %s: its owner does not find it either: %s", op.method, pair.theirs, own.body)
						}
					}
				}
			}
		})
	}
}

type pair struct {
	theirs, nobodys string // paths
	status          int
}

// pairs are the parameters and fields of an operation that take an id.
func (a *attacker) pairs(op *operation) (out []pair) {
	path := a.path(op)
	for _, p := range op.Parameters {
		switch {
		// are everybody's
		case p.In == "path" && (strings.HasPrefix(op.path, "/v1/template/public/") ||
			strings.HasPrefix(op.path, "/v1/template/early/") ||
			strings.HasPrefix(op.path, "/v2/vulnerability/") || strings.HasSuffix(op.path, "/share") ||
			strings.HasPrefix(op.path, "/api/v1/byok/") || listed(op)):
		case p.In == "path":
			nobodys := ids.New()
			if a.doc.deref(p.Schema).is("integer") {
				nobodys = "9007199254740991"
			}
			out = append(out, pair{path, a.pathTo(op, nobodys), http.StatusNotFound})
		case p.In == "query" && p.Name == "email" && strings.HasPrefix(op.path, "/v1/leaks"): // whether there are leaks or not
			bare, _, _ := strings.Cut(path, "?")
			out = append(out, pair{bare + "?email=ada@example.com", bare + "?email=nobody@example.com", http.StatusForbidden})
		case p.In == "query" && p.Name == "email" && !p.Required:
			out = append(out, pair{path + "?email=ada@example.com", path + "?email=nobody@example.com", http.StatusOK})
		case p.In == "query" && p.Name == "email":
			out = append(out, pair{path, strings.ReplaceAll(path, "ada", "nobody"), http.StatusNotFound})
		// else it labels something new
		case p.In == "query" && p.Schema.Format == "uuid" && pathParameter(op) == "" && op.method == http.MethodGet:
			out = append(out, pair{path + "?" + p.Name + "=" + a.taskID, path + "?" + p.Name + "=" + ids.New(), http.StatusOK})
		}
	}
	return out
}

func TestForeignTeamIsLikeAMissingOne(t *testing.T) {
	for _, a := range attackers(t, "sqlite") {
		eve := a.person("eve-"+ids.Random(6), "red", account.Admin)
		for _, op := range a.doc.operations() {
			if !takesKey(op) {
				continue
			}
			var got []answer
			for _, team := range []string{a.admin.TeamID, ids.New()} {
				r := a.request(op.method, a.path(op), &eve, string(encode(t, a.body(op))))
				r.Header.Set("X-Team-Id", team)
				got = append(got, a.do(r))
			}
			if got[0].status != http.StatusForbidden || got[1].status != http.StatusForbidden ||
				withoutID(got[0]) != withoutID(got[1]) {
				t.Errorf("%s %s: a stranger's team: %d %s; a missing one: %d %s", op.method, op.path, got[0].status, got[0].body,
					got[1].status, got[1].body)
			}
		}
	}
}

// takesKey reports whether an operation takes an API key.
func takesKey(op *operation) bool {
	for _, alternative := range op.Security {
		if _, ok := alternative["apiKey"]; ok {
			return true
		}
	}
	return false
}

// allowsAnonymous reports whether an operation can be called without any credentials.
func allowsAnonymous(op *operation) bool {
	return len(op.Security) == 0 || slices.ContainsFunc(op.Security,
		func(alternative map[string][]string) bool { return len(alternative) == 0 })
}

// takesBearer reports whether an operation takes nothing but a bearer token.
func takesBearer(op *operation) bool { return len(op.Security) == 1 && op.Security[0]["bearer"] != nil }

func isInternal(op *operation) bool {
	return len(op.Security) == 1 && op.Security[0]["internalKey"] != nil
}

// TestMissingAndWrongCredentialsAreRefused sends every operation without credentials, and with wrong ones.
func TestMissingAndWrongCredentialsAreRefused(t *testing.T) {
	for surface, a := range attackers(t, "sqlite") {
		paths := map[*operation]string{}
		for _, op := range a.doc.operations() {
			paths[op] = a.path(op) // makes what it names
		}
		before := a.state()
		closed := 0
		for op, path := range paths {
			if allowsAnonymous(op) {
				continue
			}
			closed++
			credentials := map[string]http.Header{
				"none":              {},
				"an unknown key":    {"X-Api-Key": {ids.NewKey()}},
				"a shapeless key":   {"X-Api-Key": {"svc_sk_"}},
				"a bad token":       {"Authorization": {"Bearer " + a.admin.token + "x"}},
				"a key as token":    {"Authorization": {"Bearer " + a.admin.key}},
				"a token as key":    {"X-Api-Key": {a.admin.token}},
				"basic":             {"Authorization": {"Basic " + a.admin.token}},
				"an empty key":      {"X-Api-Key": {""}},
				"a wrong service":   {"X-Internal-Api-Key": {serviceKey + "x"}},
				"a key, by another": {"Api-Key": {a.admin.key}},
			}
			if isInternal(op) {
				credentials["a user's key"] = http.Header{"X-Api-Key": {a.admin.key}}
				credentials["a user's token"] = http.Header{"Authorization": {"Bearer " + a.admin.token}}
			} else {
				credentials["the service key"] = http.Header{"X-Internal-Api-Key": {serviceKey}}
			}
			if takesBearer(op) {
				credentials["a user's key"] = http.Header{"X-Api-Key": {a.admin.key}}
			}
			for name, header := range credentials {
				r := a.request(op.method, path, nil, string(encode(t, a.body(op))))
				maps.Copy(r.Header, header)
				got := a.do(r)
				if _, err := got.refusal(surface == "platform"); got.status != http.StatusUnauthorized || err != nil {
					t.Errorf("%s %s with %s: %d %s (%v)", op.method, op.path, name, got.status, got.body, err)
				}
				if got.header.Get("WWW-Authenticate") == "" {
					t.Errorf("%s %s: 401 without WWW-Authenticate", op.method, op.path)
				}
			}
		}
		if closed == 0 || a.state() != before {
			t.Errorf("%s: %d operations are closed; the database is as before: %v", surface, closed, a.state() == before)
		}
	}
}

// TestValidCredentialsAreAccepted sends every operation with each kind of valid credentials.
func TestValidCredentialsAreAccepted(t *testing.T) {
	for _, a := range attackers(t, "sqlite") {
		for _, op := range a.doc.operations() {
			r := a.request(op.method, a.path(op), nil, string(encode(t, a.body(op))))
			switch {
			case takesKey(op):
				u, err := a.Accounts.CreateUser(t.Context(), account.NewUser{Email: ids.New() + "@example.com"})
				if err != nil {
					t.Fatal(err)
				}
				key, err := a.Accounts.CreateKey(account.WithCaller(t.Context(), account.Caller{UserID: u.ID}))
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("X-Api-Key", key.Key)
			case isInternal(op):
				r.Header.Set("X-Internal-API-Key", serviceKey)
			case takesBearer(op):
				r.Header.Set("Authorization", "bearer "+a.admin.token)
			}
			if got := a.do(r); got.status == http.StatusUnauthorized && !strings.HasPrefix(op.OperationID, "login") || got.status >= 500 {
				t.Errorf("%s %s: %d %s", op.method, op.path, got.status, got.body)
			}
		}
	}
}

// TestRoles: a viewer changes nothing, and a member nothing of the team's.
func TestRoles(t *testing.T) {
	for _, a := range attackers(t, "sqlite") {
		viewer, member := a.person("vera-"+ids.Random(6), "blue", account.Viewer),
			a.person("max-"+ids.Random(6), "blue", account.Member)
		for _, op := range a.doc.operations() {
			// Without a model nothing is generated for anybody, and a connection is finished by who began it.
			if !takesKey(op) || personal(op) || operators(op) || op.OperationID == "generate-template" || op.OperationID == "finish-github" ||
				op.OperationID == "finish-slack" ||
				strings.HasPrefix(op.path, "/v1/leaks/stats/") { // who has proved nothing sees none
				continue
			}
			writes, admins := changes(op), adminsOnly(op)
			path := a.path(op) // makes what it names
			before := a.state()
			got := a.as(op, &viewer, path)
			if (got.status == http.StatusForbidden) != writes {
				t.Errorf("a viewer's %s %s: %d %s", op.method, op.path, got.status, got.body)
			}
			if a.state() != before {
				t.Errorf("a viewer's %s %s changed something", op.method, op.path)
			}
			if got := a.as(op, &member, a.path(op)); (got.status == http.StatusForbidden) != admins {
				t.Errorf("a member's %s %s: %d %s", op.method, op.path, got.status, got.body)
			}
		}
	}
}
