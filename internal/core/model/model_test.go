package model_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// TestWhoseModel walks from no model to the server's, to a key of one's own, to a team's.
func TestWhoseModel(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		url, _ := provider(t)
		r := open(t, d, model.Config{})
		ada, adas := r.person("ada", "blue", account.Member)
		if _, err := r.Resolve(ada, adas.TeamID, adas.UserID, "auto"); !errors.Is(err, model.ErrBuiltin) {
			t.Errorf("without a model: %v", err)
		}
		r.Server = operators()
		for want, name := range map[string]string{"": "sonnet-4.6", "auto": "sonnet-4.6", "opus-4.7": "opus-4.7",
			"claude-opus-4-6": "opus-4.6"} {
			got, err := r.Resolve(ada, adas.TeamID, adas.UserID, want)
			if err != nil || got.Name != name || got.BYOK || !got.Priced || got.Price.Input == 0 || got.Window < 100_000 ||
				got.Model == nil {
				t.Errorf("%q of the server: %+v, %v", want, got, err)
			}
		}
		if _, err := r.Resolve(ada, adas.TeamID, adas.UserID, "gpt-5.5-high"); code(err) != "model_not_available" {
			t.Errorf("another's model: %v", err)
		}
		if _, err := r.Resolve(ada, adas.TeamID, adas.UserID, model.Builtin); !errors.Is(err, model.ErrBuiltin) {
			t.Errorf("no model, please: %v", err)
		}

		key := model.NewKey{Provider: llm.ProviderCompatible, Key: "good", BaseURL: url}
		if err := r.SetMode(ada, model.ModeBYOK); code(err) != "byok_needs_key" {
			t.Errorf("byok without a key: %v", err)
		}
		if _, _, err := r.SetKey(ada, key); err != nil {
			t.Fatal(err)
		}
		if got, err := r.Resolve(ada, adas.TeamID, adas.UserID, "auto"); err != nil || got.BYOK {
			t.Errorf("a key alone switches: %+v, %v", got, err)
		}
		if err := r.SetMode(ada, model.ModeBYOK); err != nil {
			t.Fatal(err)
		}
		got, err := r.Resolve(ada, adas.TeamID, adas.UserID, "auto")
		if err != nil || !got.BYOK || got.Name != "large" || got.Priced || got.Price != (llm.Price{}) {
			t.Fatalf("one's own: %+v, %v", got, err)
		}
		if answer, err := got.Complete(t.Context(),
			llm.Request{Model: got.Name, Messages: []llm.Message{{Role: llm.User, Text: "Hello"}}}, nil); err != nil ||
			answer.Text != "ok" {
			t.Errorf("a call with it: %+v, %v", answer, err)
		}
		if _, err := r.Resolve(ada, adas.TeamID, adas.UserID, "opus-4.7"); code(err) != "model_not_available" {
			t.Errorf("the server pays although one works with one's own: %v", err)
		}

		// Others join: the key stays Ada's, and they work with the server's.
		bob, bobs := r.person("bob", "blue", account.Admin)
		if got, err := r.Resolve(bob, bobs.TeamID, bobs.UserID, "auto"); err != nil || got.BYOK {
			t.Errorf("another's key is used: %+v, %v", got, err)
		}
		if _, _, err := r.FindKeys(ada); code(err) != "team_admin_required" {
			t.Errorf("a member of several sees keys: %v", err)
		}
		if keys, mode, err := r.FindKeys(bob); err != nil || len(keys) != 0 || mode != model.ModeServer {
			t.Errorf("an admin sees another's key: %+v, %s, %v", keys, mode, err)
		}
		key.Model = "small"
		if _, _, err := r.SetKey(bob, key); err != nil {
			t.Fatal(err)
		}
		if err := r.SetMode(bob, model.ModeBYOK); err != nil {
			t.Fatal(err)
		}
		if got, err := r.Resolve(bob, bobs.TeamID, bobs.UserID, "auto"); err != nil || !got.BYOK || got.Name != "small" {
			t.Errorf("the team's: %+v, %v", got, err)
		}
		if got, err := r.Resolve(ada, adas.TeamID, adas.UserID, "auto"); err != nil || got.Name != "large" {
			t.Errorf("one's own before the team's: %+v, %v", got, err)
		}
		if out, err := r.DeleteKey(bob, llm.ProviderCompatible); err != nil || out.Remaining != 0 || !out.Switched {
			t.Errorf("deleting the last: %+v, %v", out, err)
		}
		if got, err := r.Resolve(bob, bobs.TeamID, bobs.UserID, "auto"); err != nil || got.BYOK {
			t.Errorf("after that: %+v, %v", got, err)
		}
		if _, err := r.DeleteKey(bob, llm.ProviderCompatible); code(err) != "provider_key_not_found" {
			t.Errorf("deleting what is not there, or another's: %v", err)
		}
	})
}

func TestKeys(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		url, asked := provider(t)
		r := open(t, d, model.Config{})
		ada, _ := r.person("ada", "", account.Member)
		for want, n := range map[string]model.NewKey{
			"provider_not_found":  {Provider: "nobody", Key: "good"},
			"invalid_api_key":     {Provider: llm.ProviderCompatible, BaseURL: url},
			"invalid_base_url":    {Provider: llm.ProviderCompatible, Key: "good"},
			"invalid_url":         {Provider: llm.ProviderOpenAI, Key: "good", BaseURL: "ftp://example.com"},
			"address_not_allowed": {Provider: llm.ProviderOpenAI, Key: "good", BaseURL: "http://169.254.169.254/v1"},
			"invalid_location":    {Provider: llm.ProviderBedrock, Key: "good", Location: "x.evil.example/"},
			"invalid_display_name": {Provider: llm.ProviderCompatible, Key: "good", BaseURL: url,
				DisplayName: strings.Repeat("x", 129)},
			llm.CodeKey:               {Provider: llm.ProviderCompatible, Key: "bad", BaseURL: url},
			llm.CodeUnavailable:       {Provider: llm.ProviderCompatible, Key: "good", BaseURL: "http://127.0.0.1:1/v1"},
			"invalid_api_key with it": {Provider: llm.ProviderCompatible, Key: "good\r\nX-Evil: 1", BaseURL: url},
		} {
			before := asked.Load()
			_, _, err := r.SetKey(ada, n)
			if got := code(err); got != strings.TrimSuffix(want, " with it") {
				t.Errorf("%s: %v", want, err)
			}
			if called := asked.Load() > before; called != (want == llm.CodeKey) {
				t.Errorf("%s: the provider was asked: %v", want, called)
			}
		}
		if keys, _, err := r.FindKeys(ada); err != nil || len(keys) != 0 {
			t.Errorf("something was stored: %+v, %v", keys, err)
		}
		good := model.NewKey{Provider: llm.ProviderCompatible, Key: "good", BaseURL: url, DisplayName: "ours"}
		if v, err := r.Validate(ada, good); err != nil || !v.Valid || !slices.Equal(v.Models, []string{"large", "small"}) {
			t.Errorf("a good key: %+v, %v", v, err)
		}
		bad := good
		bad.Key = "bad"
		if v, err := r.Validate(ada, bad); err != nil || v.Valid || v.Error == "" || v.Code != llm.CodeKey {
			t.Errorf("a bad key: %+v, %v", v, err)
		}
		first, _, err := r.SetKey(ada, good)
		if err != nil {
			t.Fatal(err)
		}
		good.DisplayName = "mine"
		second, _, err := r.SetKey(ada, good)
		if err != nil || second.ID != first.ID || !second.CreatedAt.Equal(first.CreatedAt) {
			t.Errorf("storing again: %+v after %+v, %v", second, first, err)
		}
		keys, mode, err := r.FindKeys(ada)
		if err != nil || len(keys) != 1 || keys[0].DisplayName != "mine" || keys[0].Owner != model.OwnerUser ||
			strings.Contains(keys[0].Masked, "good") || mode != model.ModeServer {
			t.Errorf("the list: %+v, %s, %v", keys, mode, err)
		}
		var sealed []byte
		if err := d.QueryRow(t.Context(), `SELECT sealed FROM model_key`).Scan(&sealed); err != nil ||
			strings.Contains(string(sealed), "good") {
			t.Errorf("at rest: %q, %v", sealed, err)
		}
		eve, _ := r.person("eve", "", account.Member)
		if keys, _, err := r.FindKeys(eve); err != nil || len(keys) != 0 {
			t.Errorf("a stranger sees %+v, %v", keys, err)
		}
		if _, err := r.DeleteKey(eve, llm.ProviderCompatible); code(err) != "provider_key_not_found" {
			t.Errorf("a stranger deletes: %v", err)
		}
	})
}

func TestFindModels(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	r := open(t, d, model.Config{})
	ada, adas := r.person("ada", "", account.Viewer)
	if found, mode, err := r.Find(ada); err != nil || len(found) != 0 || mode != model.ModeServer {
		t.Errorf("nothing configured: %+v, %s, %v", found, mode, err)
	}
	r.Server = operators()
	found, _, err := r.Find(ada)
	if err != nil || len(found) != 4 || !found[0].Default || found[0].ID != "sonnet-4.6" ||
		found[0].WireName != "claude-sonnet-4-6" || found[1].Default {
		t.Fatalf("the server's: %+v, %v", found, err)
	}
	for _, m := range found {
		if got, err := r.Resolve(ada, adas.TeamID, adas.UserID, m.ID); err != nil || got.Name != m.ID ||
			got.Price != m.Chosen.Price {
			t.Errorf("%s is listed, and gives %+v, %v", m.ID, got, err)
		}
	}
	// A server of the operator's own has one model, at the operator's price.
	price := llm.Price{Input: 1, Output: 2, CacheRead: 1, CacheWrite: 1}
	r.Server = &model.Server{Config: llm.Config{Provider: llm.ProviderOpenAI, BaseURL: "http://127.0.0.1:1/v1"},
		Model: "gemma", Price: &price, Window: 4096}
	if found, _, err := r.Find(ada); err != nil || len(found) != 1 || found[0].ID != "gemma" ||
		found[0].Chosen.Price != price || found[0].Chosen.Window != 4096 || !found[0].Chosen.Priced {
		t.Errorf("the operator's own: %+v, %v", found, err)
	}
	if _, err := r.Resolve(ada, adas.TeamID, adas.UserID, "gpt-5.5-high"); code(err) != "model_not_available" {
		t.Errorf("what that server does not have: %v", err)
	}
	r.Server = &model.Server{Config: llm.Config{Provider: "scripted"}, Model: "scripted",
		Script: &llm.Script{Replies: []llm.Reply{{Text: "so"}}}}
	got, err := r.Resolve(ada, adas.TeamID, adas.UserID, "auto")
	if err != nil || got.Name != "scripted" {
		t.Fatalf("a script: %+v, %v", got, err)
	}
	if answer, err := got.Complete(t.Context(), llm.Request{Model: got.Name}, nil); err != nil || answer.Text != "so" {
		t.Errorf("a script answers %+v, %v", answer, err)
	}
}
