package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/hook"
	"github.com/vedette-sec/vedette/internal/core/knowledge"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/core/network"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/traffic"
	"github.com/vedette-sec/vedette/internal/notify/gitlab/gitlabtest"
	"github.com/vedette-sec/vedette/internal/notify/slack"
	"github.com/vedette-sec/vedette/internal/notify/slack/slacktest"
)

// The secrets of a team, beside those that walk.seed has: no row, no line of the log and no answer has them in plain.
const slackSecret = "signing-secret-of-the-canary"

// must sends a request that has to succeed, and returns the texts of its answer by field.
func (w *walk) must(p *person, method, path, body string) map[string]string {
	w.t.Helper()
	got := w.do(w.request(method, path, p, body))
	var doc map[string]any
	if err := json.Unmarshal(got.body, &doc); err != nil || got.status/100 != 2 {
		w.t.Fatalf("%s %s: %d %s", method, path, got.status, got.body)
	}
	out := map[string]string{}
	for name, value := range doc {
		out[name], _ = value.(string)
		if inner, is := value.(map[string]any); is && out["id"] == "" {
			out["id"], _ = inner["id"].(string)
		}
	}
	return out
}

// plant adds to what walk.seed made what needs other services or workers, all of it with the mark, and returns the words
// that stand nowhere in plain.
func (w *walk) plant() (hidden []string) {
	w.t.Helper()
	mark := w.marks[0]
	hidden = []string{"value-of-" + mark, mark + "-secret", "bearer-of-" + mark, "hook-of-" + mark, "tracker-of-" + mark}
	hidden = append(hidden, w.connect(mark)...)
	w.know(w.admin, mark, true)
	w.observe(w.admin, mark, 1, discover.Asset{Host: mark + ".example.com", Port: 443, Title: mark})
	hidden = append(hidden, w.work(w.admin, w.only(`SELECT task_id FROM task_stream WHERE instruction LIKE '%`+mark+`%'`), mark))

	vuln := w.only(`SELECT id FROM finding WHERE host = '` + mark + `.example.com'`)
	w.must(&w.admin, http.MethodPost, "/v1/scans/vulns/"+vuln+"/comments", `{"text": "`+mark+`"}`)
	w.storeRowsOfJobs(vuln, mark)
	w.exec(`INSERT INTO inbox_message (team_id, user_id, id, kind, finding_id, text, actor, at) VALUES (?, ?, ?, 'mention', ?, ?, '', ?)`,
		w.admin.TeamID, w.admin.UserID, ids.New(), vuln, mark, db.At(time.Now()))
	return hidden
}

// storeRowsOfJobs stores what only jobs write about things of the team: suggestions, notices, messages, events, grants and hosts.
func (w *walk) storeRowsOfJobs(vuln, mark string) {
	w.t.Helper()
	team, now := w.admin.TeamID, db.At(time.Now())
	enumeration := w.only(`SELECT id FROM enumeration WHERE name = '` + mark + `'`)
	w.exec(`INSERT INTO triage_suggestion (id, team_id, hash, finding_id, field, value, reason, confidence, source, by_what, state, created_at)
		SELECT ?, team_id, hash, id, 'severity', 'high', ?, 90, 'builtin', ?, 'open', ? FROM finding WHERE id = ?`, ids.New(), mark, mark, now, vuln)
	w.exec(`INSERT INTO notice (id, team_id, kind, subject_id, run, event, config_id, channel, provider, state, note, body, created_at, updated_at)
		VALUES (?, ?, 'enumeration', ?, 1, 'finished', ?, 0, 'slack', 'failed', ?, ?, ?, ?)`, ids.New(), team, enumeration, ids.New(), mark,
		db.Doc(map[string]any{"text": mark}), now, now)
	w.exec(`INSERT INTO slack_message (id, team_id, slack_team, channel, thread_ts, key, text, edits, ask, state, ts, created_at)
		VALUES (?, ?, 'T', 'C', '1', ?, ?, '', ?, 'posted', '2', ?)`, ids.New(), team, mark, mark, db.Doc(map[string]any{}), now)
	w.exec(`INSERT INTO enumeration_event (enumeration_id, run, kind, subject, detail, times, at) VALUES (?, 1, 'denied', ?, ?, 1, ?)`,
		enumeration, mark, mark, now)
	w.exec(`INSERT INTO credit_grant (id, team_id, micros, note, granted_by, created_at) VALUES (?, ?, 1, ?, ?, ?)`, ids.New(), team, mark, mark, now)
	w.exec(`INSERT INTO agent_installation (agent_id, team_id, hash, status, fault, output, updated_at)
		SELECT id, team_id, 'h', 'failed', ?, ?, ? FROM user_agent WHERE team_id = ? LIMIT 1`, mark, mark, now, team)
	w.exec(`INSERT INTO ssh_host (id, team_id, address, public_key, fingerprint, created_at) VALUES (?, ?, ?, 'ssh-ed25519 AAAA', 'SHA256:x', ?)`,
		ids.New(), team, mark+".example.com:22", now)
}

// only is the one value that a query has.
func (w *walk) only(query string) string {
	w.t.Helper()
	rows := w.read(query)
	if len(rows) == 0 {
		w.t.Fatalf("%s: nothing", query)
	}
	return plainText(rows[0][:1])
}

// know adds a text to a base of knowledge.
func (w *walk) know(p person, word string, shared bool) {
	w.t.Helper()
	ctx := account.WithCaller(context.Background(), p.Caller)
	made, err := w.knowledge.Add(ctx, knowledge.New{Content: "The depot is behind " + word + ".", Name: word, Shared: shared})
	if err == nil {
		err = w.knowledge.Index(ctx, knowledge.IndexArgs{SourceID: made[0].ID, Round: 1})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	if found, err := w.knowledge.Search(ctx, "depot", "", 10); err != nil || !strings.Contains(fmt.Sprint(found.Hits), word) {
		w.t.Fatalf("its owner does not find the text: %+v, %v", found, err)
	}
}

// connect connects the team with a GitLab, a Slack and a provider of models.
func (w *walk) connect(mark string) (hidden []string) {
	w.t.Helper()
	serve := func(h http.Handler) string {
		server := httptest.NewServer(h)
		w.t.Cleanup(server.Close)
		return server.URL
	}
	made := w.must(&w.admin, http.MethodPost, "/api/v1/gitlab/connections",
		`{"url": "`+serve(gitlabtest.New())+`", "token": "`+gitlabtest.Token+`", "projects": ["acme/shop"]}`)
	repo := w.only(`SELECT id FROM review_repo WHERE connection = '` + made["id"] + `'`)
	w.exec(`UPDATE review_repo SET full_name = ? WHERE id = ?`, "acme/"+mark, repo)
	w.exec(`INSERT INTO review_run (id, team_id, forge, repo, pull, head, cause, status, error, conclusion, posting, check_id, findings,
		commented, files, created_at, finished_at) VALUES (?, ?, 'gitlab', ?, 1, 'a', 'opened', 'completed', ?, 'failure', ?, 1, ?, ?, 1, ?, ?)`,
		ids.New(), w.admin.TeamID, repo, mark, false, db.Doc([]map[string]any{{"path": mark, "line": 1, "kind": "secrets", "title": mark}}),
		db.Doc([]string{mark}), db.At(time.Now()), db.At(time.Now()))
	w.chats.Client = slack.New(serve(slacktest.New())+"/api",
		&netguard.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	w.must(&w.admin, http.MethodPut, "/api/v1/slack/connection",
		`{"bot_token": "`+slacktest.Token+`", "signing_secret": "`+slackSecret+`"}`)
	models := serve(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(rw, `{"object": "list", "data": [{"id": "m", "object": "model"}]}`)
	}))
	w.must(&w.admin, http.MethodPatch, "/api/v1/byok/providers/openai-compatible",
		`{"api_key": "key-of-`+mark+`-0123456789", "base_url": "`+models+`/v1", "display_name": "`+mark+`"}`)
	return []string{gitlabtest.Token, made["webhook_secret"], slacktest.Token, slackSecret, "key-of-" + mark}
}

// work writes what workers would have of a task, and what they sent and were answered; captured stands there alone.
func (w *walk) work(p person, taskID, word string) (captured string) {
	w.t.Helper()
	ctx, now := account.WithCaller(context.Background(), p.Caller), db.At(time.Now())
	stream := w.only(`SELECT stream_id FROM task WHERE id = '` + taskID + `'`)
	event := engine.Event{TemplateID: word, Host: word + ".example.com", Request: "GET /" + word + " HTTP/1.1\r\n\r\n", Response: word}
	w.exec(`INSERT INTO issue (id, team_id, task_id, hash, status, verification, severity, title, description, remediation, template_id,
		target, matched_at, evidence, event, created_at, updated_at) VALUES (?, ?, ?, 'h', 'open', 'verified', 'low', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		ids.New(), p.TeamID, taskID, word, word, word, word, word, word, db.Doc([]task.Evidence{{Request: word, Response: word}}),
		db.Doc(event), now, now)
	w.exec(`INSERT INTO stream_event (stream_id, seq, type, data, at) VALUES (?, 1000, 'text', ?, ?)`, stream,
		db.Doc(map[string]any{"text": word}), now)
	w.exec(`INSERT INTO task_entry (task_id, seq, stream_id, turn, branch, kind, key, body, cost, at) VALUES (?, 1, ?, 1, 'main', 'note', ?, ?, 0, ?)`,
		taskID, stream, word, db.Doc(map[string]any{"text": word}), now)
	w.exec(`INSERT INTO task_artifact (task_id, body, created_at) VALUES (?, ?, ?)`, taskID, []byte(`{"summary": "`+word+`"}`), now)
	w.exec(`INSERT INTO task_ledger (task_id, n, targets, templates, tested) VALUES (?, 1, ?, ?, ?)`, taskID, db.Doc([]string{word}),
		db.Doc([]string{word}), []byte{1})
	w.exec(`INSERT INTO task_memory (team_id, user_id, task_id, data, updated_at) VALUES (?, '', ?, ?, ?)`, p.TeamID, taskID,
		db.Doc(map[string]any{"facts": []string{word}}), now)

	w.exec(`UPDATE task_stream SET summary = ? WHERE id = ?`, word, stream)
	err := w.Models.RecordUsage(ctx, nil, model.Row{StreamID: stream, TaskID: taskID, TeamID: p.TeamID, UserID: p.UserID, Title: word,
		Model: model.Builtin, Status: "completed", CreatedAt: now.Time})
	if err == nil {
		err = w.db.Tx(ctx, func(tx *db.Tx) error {
			_, err := hook.New(w.db, &netguard.Guard{}, w.logger).New(ctx, tx, hook.Delivery{TeamID: p.TeamID, Subject: taskID, Event: "task.completed",
				URL: "http://" + word + ".example.com/", Body: []byte(word)})
			return err
		})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	captured = "captured-" + word
	r, err := w.network.Begin(ctx, network.Subject{TeamID: p.TeamID, TaskID: taskID})
	if err != nil {
		w.t.Fatal(err)
	}
	r.Add(traffic.Exchange{At: time.Now(), Tool: "http", Method: "POST", URL: "http://127.0.0.1/" + captured,
		Request:  []byte("POST /" + captured + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" + captured),
		Response: []byte("HTTP/1.1 200 OK\r\n\r\n" + captured)})
	r.Close()
	if all, _, err := w.network.FindAll(ctx, network.Filter{Limit: 10, TaskID: taskID}); err != nil || !strings.Contains(fmt.Sprint(all), captured) {
		w.t.Fatalf("its owner does not find the traffic: %v, %v", all, err)
	}
	return captured
}

// fileUnder gives a secret, a file and a key of SSH to a project.
func (w *walk) fileUnder(p person, project, word string) {
	w.t.Helper()
	w.must(&p, http.MethodPost, "/api/v1/secrets", `{"name": "P_SECRET", "value": "v-`+word+`", "project_id": "`+project+`"}`)
	w.must(&p, http.MethodPost, "/api/v1/files?key=p-"+word+".txt&project_id="+url.QueryEscape(project), word)
	w.must(&p, http.MethodPost, "/api/v1/ssh-keys",
		`{"name": "p`+word+`", "password": "x", "default_host": "`+word+`.example.com", "project_id": "`+project+`"}`)
}
