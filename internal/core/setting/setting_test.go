package setting_test

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"github.com/vedette-sec/vedette/internal/infra/seal"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// teams is the service and two teams.
type teams struct {
	*setting.Settings
	db           *db.DB
	ctx, foreign context.Context
	team         string
}

func open(t *testing.T, d *db.DB) teams {
	t.Helper()
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	box, err := seal.Open(filepath.Join(t.TempDir(), "secret.key"))
	if err != nil {
		t.Fatal(err)
	}
	caller := func(email string) (context.Context, string) {
		u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: email, Password: "correct horse battery"})
		if err != nil {
			t.Fatal(err)
		}
		return account.WithCaller(t.Context(), account.Caller{UserID: u.ID, TeamID: u.TeamID, Role: account.Admin}), u.TeamID
	}
	h := teams{Settings: setting.New(d, box, loopback()), db: d}
	h.ctx, h.team = caller("a@example.com")
	h.foreign, _ = caller("b@example.com")
	return h
}

func (h teams) create(t *testing.T, typ setting.Type, text string) setting.Config {
	t.Helper()
	c, err := h.Create(h.ctx, setting.NewConfig{Type: typ, Name: "n", Text: text})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const github = "github:\n  owner: me\n  project-name: p\n  base-url: https://git.example.com\n  token: ghp_very_secret\n"

func TestSecretsAreSealedAndMasked(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := open(t, d)
		c := h.create(t, setting.Reporting, github)
		if strings.Contains(c.Text, "very_secret") || !strings.Contains(c.Text, setting.Mask) ||
			!strings.Contains(c.Text, "owner: me") {
			t.Errorf("shown: %s", c.Text)
		}
		var sealed []byte
		if err := d.QueryRow(t.Context(), `SELECT sealed FROM setting`).Scan(&sealed); err != nil ||
			strings.Contains(string(sealed), "very_secret") {
			t.Errorf("at rest: %q %v", sealed, err)
		}
		// What a client got and sends back changes nothing.
		if _, err := h.Update(h.ctx, c.ID, setting.Update{Text: &c.Text}); err != nil {
			t.Fatal(err)
		}
		applied, err := h.Apply(t.Context(), d, h.team, setting.Reporting, []string{c.ID}, false, "report_config_ids")
		if err != nil || len(applied) != 1 || !strings.Contains(string(applied[0].Text), "ghp_very_secret") {
			t.Fatalf("%+v %v", applied, err)
		}
		// All values of subfinder are keys.
		keys := h.create(t, setting.Subfinder, "shodan: [very_secret]\n")
		if found, err := h.ByID(h.ctx, keys.ID); err != nil || found.Text != keys.Text ||
			strings.Contains(keys.Text, "very_secret") || !strings.Contains(keys.Text, "shodan") {
			t.Errorf("shown: %s, and then %s %v", keys.Text, found.Text, err)
		}
		if _, err := h.Update(h.ctx, keys.ID, setting.Update{Text: &keys.Text}); err != nil {
			t.Errorf("sent back: %v", err)
		}
		// A secret does not follow its address to another place.
		moved := strings.Replace(c.Text, "git.example.com", "evil.example.com", 1)
		if _, err := h.Update(h.ctx, c.ID, setting.Update{Text: &moved}); !errs.Is(err, errs.Invalid) ||
			errs.From(err).Param != "config" {
			t.Errorf("moved: %v", err)
		}
	})
}

func TestLifeOfAConfig(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := open(t, d)
		encoded := base64.StdEncoding.EncodeToString([]byte("rate-limit: 10\n"))
		c := h.create(t, setting.Scan, encoded)
		if c.Text != encoded {
			t.Errorf("a text without secrets comes back as %q", c.Text)
		}
		h.create(t, setting.Template, "tags: [cve]")
		list := func(ctx context.Context, f setting.Filter) int {
			t.Helper()
			all, err := h.Find(ctx, f, page.Window{Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			return len(all)
		}
		if list(h.ctx, setting.Filter{}) != 2 || list(h.ctx, setting.Filter{Type: "scan"}) != 1 ||
			list(h.ctx, setting.Filter{Type: "vuln_score"}) != 0 ||
			list(h.ctx, setting.Filter{Search: "N"}) != 2 || list(h.ctx, setting.Filter{Search: "%"}) != 0 ||
			list(h.foreign, setting.Filter{}) != 0 {
			t.Error("a filter finds too much or too little")
		}
		name, global := "new", true
		if got, err := h.Update(h.ctx, c.ID, setting.Update{Name: &name, Global: &global}); err != nil || got.Name != name ||
			!got.Global || got.Text != encoded {
			t.Errorf("%+v %v", got, err)
		}
		if applied, err := h.Apply(t.Context(), d, h.team, setting.Scan, nil, true, ""); err != nil || len(applied) != 1 ||
			string(applied[0].Text) != "rate-limit: 10\n" {
			t.Errorf("global: %+v %v", applied, err)
		}
		if applied, err := h.Apply(t.Context(), d, h.team, setting.Scan, nil, false, ""); err != nil || len(applied) != 0 {
			t.Errorf("opted out: %+v %v", applied, err)
		}
		for name, err := range map[string]error{
			"read": second(h.ByID(h.foreign, c.ID)), "update": second(h.Update(h.foreign, c.ID, setting.Update{})),
			"delete":  h.Delete(h.foreign, c.ID),
			"missing": h.Delete(h.ctx, "x"), "zero byte": second(h.ByID(h.ctx, "\x00")),
		} {
			if !errs.Is(err, errs.NotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := h.Apply(t.Context(), d, h.team, setting.Alerting, []string{c.ID}, false,
			"alerting_config_ids"); errs.From(err).Param != "alerting_config_ids" {
			t.Errorf("another type: %v", err)
		}
		if err := h.Delete(h.ctx, c.ID); err != nil || list(h.ctx, setting.Filter{}) != 1 {
			t.Error(err)
		}
	})
}

func second[T any](_ T, err error) error { return err }

func TestRefusals(t *testing.T) {
	h := open(t, dbtest.Open(t, "sqlite"))
	long := strings.Repeat("x", 201)
	for want, c := range map[string]setting.NewConfig{
		"config_type must be": {Type: "vuln_score", Name: "n", Text: "a: b"},
		"name is required":    {Type: setting.Scan, Name: " ", Text: "a: b"},
		"name must be text":   {Type: setting.Scan, Name: long, Text: "a: b"},
		"config is required":  {Type: setting.Scan, Name: "n"},
		"config is not YAML":  {Type: setting.Scan, Name: "n", Text: "a: [b"},
		"neither a mapping":   {Type: setting.Scan, Name: "n", Text: "hello there"},
		"aliases":             {Type: setting.Scan, Name: "n", Text: "a: &x [1]\nb: *x"},
		"nests too deep": {Type: setting.Scan, Name: "n",
			Text: "a: " + strings.Repeat("[", 40) + strings.Repeat("]", 40)},
		"where a secret should": {Type: setting.Scan, Name: "n", Text: "token: '" + setting.Mask + "'"},
		"it is not text":        {Type: setting.Scan, Name: "n", Text: "a: \x00"},
		"is longer than":        {Type: setting.Scan, Name: "n", Text: strings.Repeat("a", 2<<20)},
		"is no provider":        {Type: setting.Alerting, Name: "n", Text: "a: b"},
	} {
		_, err := h.Create(h.ctx, c)
		if !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
	viewer := account.WithCaller(t.Context(), account.Caller{TeamID: h.team, Role: account.Viewer})
	if _, err := h.Create(viewer, setting.NewConfig{Type: setting.Scan, Name: "n", Text: "a: b"}); !errs.Is(err,
		errs.Forbidden) {
		t.Errorf("a viewer: %v", err)
	}
}

func TestVerify(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer good" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`{"login": "ada", "account": {"email": "a@b.c", "status": "active"}}`))
	}))
	t.Cleanup(server.Close)
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("{}"))
	}))
	t.Cleanup(silent.Close)
	h := open(t, dbtest.Open(t, "sqlite"))
	tracker := func(token string) string {
		return "github: {owner: o, project-name: p, token: " + token + ", base-url: " + server.URL + "}"
	}
	for _, c := range []struct {
		typ        setting.Type
		text, said string
		ok         bool
	}{
		{setting.Reporting, tracker("good"), "github knows us as ada", true},
		{setting.Reporting, tracker("bad"), "GitHub answered 401", false},
		{setting.Reporting, "github: {owner: o, project-name: p, token: good, base-url: " + silent.URL + "}",
			"does not say who we are", false},
		{setting.Reporting, "a: b", "no tracker", false},
		{setting.Scan, "a: b", "not applied: a", false},
		{setting.Scan, "::::", "not applied: :::.", false},
		{setting.Scan, "a: [", "not YAML", false},
		{setting.Scan, "token: '********'", "where a secret should be", false},
		{setting.Template, "tags: x", "no credentials", true},
		{"", "a: b", "not applied: a", false},
		{"", "rate-limit: 1", "all of it is applied", true},
		{"", "# nothing", "config is no", false},
		{"", tracker("good"), "github knows us as ada", true},
		{"", "shodan: [k]", "Not tried", false},
		{"", "- {provider: do, digitalocean_token: good, base_url: " + server.URL + "}", "a@b.c is active", true},
	} {
		ok, said, err := h.Verify(h.ctx, c.typ, c.text)
		if ok != c.ok || err != nil || !strings.Contains(said, c.said) {
			t.Errorf("%+v: %v %q %v", c, ok, said, err)
		}
	}
	for _, text := range []string{"", " \n", strings.Repeat("a", 2<<20)} {
		if _, _, err := h.Verify(h.ctx, setting.Reporting, text); errs.From(err).Param != "config" {
			t.Error(err)
		}
	}
}

// loopback is a guard that lets tests dial their own servers.
func loopback() *netguard.Guard {
	return &netguard.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
}
