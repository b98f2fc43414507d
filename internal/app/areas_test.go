package app

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/knowledge"
	"github.com/vedette-sec/vedette/internal/core/network"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/traffic"
	"github.com/vedette-sec/vedette/internal/notify/github/githubtest"
)

// nested creates something whose answer has it under a name, and returns its id.
func (a *attacker) nested(path, body string) string {
	a.t.Helper()
	got := a.do(a.request(http.MethodPost, path, &a.admin, body))
	var made map[string]struct{ ID string }
	if err := json.Unmarshal(got.body, &made); err != nil || len(made) != 1 {
		a.t.Fatalf("POST %s: %d %s", path, got.status, got.body)
	}
	return slices.Collect(maps.Values(made))[0].ID
}

// schedule creates a schedule of tasks.
func (a *attacker) schedule() string {
	a.t.Helper()
	return a.nested("/api/v1/schedules", `{"task_message": "check http://127.0.0.1:9/", "scan_frequency": "daily"}`)
}

// reportSchedule creates a schedule of reports.
func (a *attacker) reportSchedule() string {
	a.t.Helper()
	return a.createdID("/v1/export/schedule", `{"name": "r", "type": "csv", "frequency": "weekly", "start_time": "07:00"}`)
}

// project creates a project.
func (a *attacker) project() string {
	a.t.Helper()
	return a.nested("/api/v1/projects", `{"name": "p", "shared_with_team": true}`)
}

// sshKey stores a password for SSH.
func (a *attacker) sshKey() string {
	a.t.Helper()
	return a.createdID("/api/v1/ssh-keys", `{"name": "k`+strings.ToLower(ids.Random(12))+`", "password": "hidden"}`)
}

// networkEvent captures a request of the task.
func (a *attacker) networkEvent() string {
	a.t.Helper()
	ctx := account.WithCaller(context.Background(), a.admin.Caller)
	r, err := a.network.Begin(ctx, network.Subject{TeamID: a.admin.TeamID, TaskID: a.taskID})
	if err != nil {
		a.t.Fatal(err)
	}
	r.Add(traffic.Exchange{At: time.Now(), Tool: "http", Method: "GET", URL: "http://127.0.0.1/hidden",
		Request: []byte("GET /hidden HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")})
	r.Close()
	found, _, err := a.network.FindAll(ctx, network.Filter{Limit: 1})
	if err != nil || len(found) == 0 {
		a.t.Fatal(found, err)
	}
	return found[0].ID
}

// networkReplay has one sent again.
func (a *attacker) networkReplay() string {
	a.t.Helper()
	return a.createdID("/api/v1/network/events/"+a.networkEvent()+"/replay", `{}`)
}

// sshHost pins the key of a host.
func (a *attacker) sshHost() string {
	a.t.Helper()
	id := ids.New()
	if _, err := a.db.Exec(context.Background(), `INSERT INTO ssh_host (id, team_id, address, public_key, fingerprint, created_at)
		VALUES (?, ?, ?, 'ssh-ed25519 AAAA', 'SHA256:x', ?)`, id, a.admin.TeamID, id+":22", db.At(time.Now())); err != nil {
		a.t.Fatal(err)
	}
	return id
}

// auditLog has an entry written into the audit log.
func (a *attacker) auditLog() string {
	a.t.Helper()
	got := a.do(a.request(http.MethodPost, "/api/v1/projects", &a.admin, `{"name": 7}`))
	return got.header.Get("X-Request-Id")
}

// skill writes a skill.
func (a *attacker) skill() string {
	a.t.Helper()
	return a.createdID("/api/v1/skills", `{"name": "s`+strings.ToLower(ids.Random(12))+`", "description": "d", "instructions": "i"}`)
}

// templateKey trusts a key whose certificate nobody reads here.
func (a *attacker) templateKey() string {
	a.t.Helper()
	id := ids.New()
	if _, err := a.db.Exec(context.Background(), `INSERT INTO template_key (id, team_id, name, owner, fragment, certificate, added_by, created_at)
		VALUES (?, ?, 'n', 'o', ?, 'c', ?, ?)`, id, a.admin.TeamID, id, a.admin.UserID, db.At(time.Now())); err != nil {
		a.t.Fatal(err)
	}
	return id
}

// source is a text in the team's base of knowledge, indexed.
func (a *attacker) source() string {
	a.t.Helper()
	ctx := account.WithCaller(context.Background(), a.admin.Caller)
	made, err := a.knowledge.Add(ctx, knowledge.New{Content: "The depot is behind the mill.", Shared: true})
	if err == nil {
		err = a.knowledge.Index(ctx, knowledge.IndexArgs{SourceID: made[0].ID, Round: 1})
	}
	if err != nil {
		a.t.Fatal(err)
	}
	return made[0].ID
}

// installation is a connected installation of the GitHub App, with a repository.
func (a *attacker) installation() string {
	a.t.Helper()
	id, number := ids.New(), time.Now().UnixNano()
	if _, err := a.db.Exec(context.Background(), `INSERT INTO github_installation (id, team_id, installation_id, account_login, account_type, status,
		total_repos, error, created_at) VALUES (?, ?, ?, 'octo', 'User', 'active', 1, '', ?)`, id, a.admin.TeamID, number, db.At(time.Now())); err != nil {
		a.t.Fatal(err)
	}
	if _, err := a.db.Exec(context.Background(), `INSERT INTO review_repo (id, team_id, forge, install, repo_id, full_name, is_private, config)
		VALUES (?, ?, 'github', ?, 70, 'octo/shop', ?, ?)`, id, a.admin.TeamID, id, true, db.Doc(struct{}{})); err != nil {
		a.t.Fatal(err)
	}
	return id
}

// gitlab is a connection to a GitLab that does not answer, with a project.
func (a *attacker) gitlab() string {
	a.t.Helper()
	id := ids.New()
	if _, err := a.db.Exec(context.Background(), `INSERT INTO gitlab_connection (id, team_id, url, user_id, username, token, hook, error, created_at)
		VALUES (?, ?, 'http://127.0.0.1:9', ?, 'bot', ?, ?, '', ?)`, id, a.admin.TeamID, time.Now().UnixNano(), []byte{1}, []byte{1},
		db.At(time.Now())); err != nil {
		a.t.Fatal(err)
	}
	if _, err := a.db.Exec(context.Background(), `INSERT INTO review_repo (id, team_id, forge, connection, repo_id, full_name, is_private, config)
		VALUES (?, ?, 'gitlab', ?, 70, 'acme/shop', ?, ?)`, id, a.admin.TeamID, id, true, db.Doc(struct{}{})); err != nil {
		a.t.Fatal(err)
	}
	return id
}

// withApp are the options of a server with a GitHub App and a Slack app, whose services do not answer.
func withApp(t testing.TB) []string {
	file := filepath.Join(t.TempDir(), "app.pem")
	if err := os.WriteFile(file, githubtest.New().KeyPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"GITHUB_APP_ID=12", "GITHUB_PRIVATE_KEY_FILE=" + file, "GITHUB_WEBHOOK_SECRET=" + githubtest.Secret,
		"GITHUB_CLIENT_ID=c", "GITHUB_CLIENT_SECRET=client-secret-0123", "GITHUB_API_URL=http://127.0.0.1:9",
		"SLACK_CLIENT_ID=c", "SLACK_CLIENT_SECRET=client-secret-0123", "SLACK_SIGNING_SECRET=signing-secret-0123",
		"SLACK_API_URL=http://127.0.0.1:9"}
}

// prompt writes a prompt.
func (a *attacker) prompt() string {
	a.t.Helper()
	return a.createdID("/api/v1/prompts", `{"name": "p`+ids.Random(12)+`", "text": "check {{url}}"}`)
}

// listed reports whether an operation is about what everybody on the server may see, or about what nobody has.
func listed(op *operation) bool {
	return strings.HasPrefix(op.path, "/api/v1/agents/directory/")
}
