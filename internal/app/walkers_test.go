package app

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// public are the operations that need no credentials, with what they answer without any to the path of something that
// is not shared with everybody; 0: they have no such path. Every other operation refuses a caller without credentials.
var public = map[string]int{
	"get-sign-in-methods": http.StatusOK,
	"login":               0, "login-second-step": 0, "login-challenge": 0, "request-password-reset": 0, "finish-password-reset": 0, // how one gets them
	"finish-github": http.StatusForbidden,  // who comes back from GitHub has the cookie of who began
	"finish-slack":  http.StatusBadRequest, // and from Slack, perhaps without having begun here
	"share-task":    http.StatusNotFound, "get-shared-template-text": http.StatusNotFound,
}

// nobody is the walker without credentials.
const nobody = "no credentials"

// personal are the operations on what belongs to the caller and not to a team; everybody may call them in any role.
func personal(op *operation) bool {
	return strings.Contains(op.path, "/user/apikey") || strings.Contains(op.path, "/user/sessions") ||
		strings.HasSuffix(op.path, "/user/password") || strings.Contains(op.path, "/user/invitations") ||
		strings.Contains(op.path, "/user/second-factor") || strings.Contains(op.path, "/user/notifications") || slices.Contains([]string{"create-team", "accept-team-invitation", "leave-team"}, op.OperationID)
}

// changes reports whether an operation is for those who may change the team's things.
func changes(op *operation) bool {
	reads := strings.HasPrefix(op.OperationID, "export-") || op.OperationID == "get-leak" ||
		op.OperationID == "search-knowledge" // what one may read, by POST
	return op.method != http.MethodGet && !reads ||
		op.OperationID == "list-default-members" || adminsOnly(op)
}

// adminsOnly reports whether an operation is for admins of the team.
func adminsOnly(op *operation) bool {
	writes := op.method != http.MethodGet || op.OperationID == "list-default-members"
	// What a team of several pays, its admins alone see.
	return writes && op.Tags[0] == "Teams" || slices.Contains(owners, op.OperationID) || op.Tags[0] == "BYOK" ||
		op.Tags[0] == "Usage" || op.Tags[0] == "Billing" ||
		writes && (op.Tags[0] == "GitHub" || op.Tags[0] == "GitLab" || op.Tags[0] == "Reviews" || op.Tags[0] == "Slack")
}

// owners are the operations on what an admin of the team may change, or who owns it: it is the victim's, an admin.
var owners = []string{"update-project", "delete-project", "set-project-cap", "clear-project-cap", "set-project-member",
	"remove-project-member", "forget-ssh-host", "publish-agent", "update-network-policy", "reindex-knowledge-source", "delete-knowledge-source",
	"add-template-key", "delete-template-key"}

// insiders are the operations that tell who is in the team and what they did, which guests do not see.
var insiders = []string{
	"list-project-members", "list-members", "list-team-members", "list-audit-log", "search-audit-log", "list-audit-logs", "get-audit-log", "verify-audit-logs",
	"export-audit-logs", "list-vulnerability-comments",
	"list-issue-comments", "list-triage-queues", "get-triage-queue", "list-triage-queue-items", "list-triage-rules",
	"get-triage-rule", "list-triage-applications", "list-triage-rule-applications", "list-triage-suggestions",
	"export-evidence", "export-scan-evidence", "export-vulnerability-evidence", // entries of a chain say who sent what
}

func operators(op *operation) bool { return strings.Contains(op.path, "/operator/") }

// walker is a caller of every operation.
type walker struct {
	name string
	// sign gives a request credentials that stay the same for all operations.
	sign func(r *http.Request)
	// want is the status that an operation answers to them; 0: it lets them in.
	want    func(op *operation) int
	foreign bool // is in none of the victim's teams: no answer to them has anything of the victim's
}

func always(status int) func(*operation) int { return func(*operation) int { return status } }

// walk is one database with a team that is walked on.
type walk struct {
	*attacker
	engine string   // of the database
	marks  []string // words that occur in the victim's data only
	parts  []*part  // what belongs to the victim
}

// part are the victim's rows of one table.
type part struct {
	query  string
	tables []string // that it reads
	digest string   // of the rows; "": they were not read yet
	at     int      // how often the tables were written before that
}

// member makes a user without a password in a team of this name. A role other than Member is given to them there.
func (w *walk) member(team string, role account.Role) person {
	w.t.Helper()
	ctx := context.Background()
	email := "p" + strings.ToLower(ids.Random(12)) + "@example.com"
	u, err := w.Accounts.CreateUser(ctx, account.NewUser{Email: email, Team: team})
	if err == nil && u.Role != role {
		u, err = w.Accounts.AssignRole(ctx, u.Email, u.TeamID, string(role))
	}
	if err != nil {
		w.t.Fatal(err)
	}
	token, err := w.Accounts.IssueToken(ctx, u.Email)
	if err != nil {
		w.t.Fatal(err)
	}
	p := person{Caller: account.Caller{UserID: u.ID, Email: u.Email, TeamID: u.TeamID, Role: role},
		token: token.AccessToken}
	key, err := w.Accounts.CreateKey(account.WithCaller(ctx, p.Caller))
	if err != nil {
		w.t.Fatal(err)
	}
	p.key = key.Key
	return p
}

// by sends a person's API key, and their token where an operation takes no key.
func by(p person) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Set("X-Api-Key", p.key)
		r.Header.Set("Authorization", "Bearer "+p.token)
	}
}

// exec changes the database behind the server's back.
func (w *walk) exec(query string, args ...any) {
	w.t.Helper()
	if _, err := w.db.Exec(context.Background(), query, args...); err != nil {
		w.t.Fatal(err)
	}
}

// outsiders are the callers whose credentials are missing, broken or no longer good.
func (w *walk) outsiders() []walker {
	w.t.Helper()
	ctx, team := context.Background(), w.teamName()
	must := func(err error) {
		w.t.Helper()
		if err != nil {
			w.t.Fatal(err)
		}
	}
	token := func(p person) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+p.token) }
	}
	broken := w.admin
	broken.token, broken.key = broken.token[:len(broken.token)-4]+"AAAA", ids.NewKey()

	signedOut := w.member(team, account.Admin)
	must(w.Accounts.EndSessions(account.WithCaller(ctx, signedOut.Caller), false))
	expired := w.member(team, account.Admin)
	w.exec(`UPDATE user_session SET expires_at = ? WHERE user_id = ?`, db.At(time.Now().Add(-time.Hour)), expired.UserID)
	disabled := w.member(team, account.Admin)
	must(w.Accounts.SetDisabled(ctx, disabled.Email, true))
	deleted := w.member(team, account.Admin)
	must(w.Accounts.DeleteUser(ctx, deleted.Email, false))
	rotated := w.member(team, account.Admin)
	_, err := w.Accounts.RotateKey(account.WithCaller(ctx, rotated.Caller))
	must(err)
	rotated.token = broken.token
	ended := w.member(team, account.Admin)
	w.exec(`UPDATE api_key SET expires_at = ? WHERE user_id = ?`, db.At(time.Now().Add(-time.Hour)), ended.UserID)
	ended.token = broken.token
	removed := w.member(team, account.Member)
	must(w.Accounts.RemoveMember(account.WithCaller(ctx, w.admin.Caller), removed.Email))

	var out []walker
	for name, sign := range map[string]func(*http.Request){
		nobody:                                func(*http.Request) {},
		"a broken token":                      token(broken),
		"an unknown key":                      by(broken),
		"an ended session":                    token(signedOut),
		"an expired session":                  token(expired),
		"a disabled user":                     by(disabled),
		"a disabled user's token":             token(disabled),
		"a deleted user":                      by(deleted),
		"a rotated key":                       by(rotated),
		"an expired key":                      by(ended),
		"a removed member with no other team": by(removed),
	} {
		out = append(out, walker{name, sign, always(http.StatusUnauthorized), true})
	}
	return out
}

// naming are callers who name the victim's team and are not, or no longer, in it.
func (w *walk) naming(eve person) []walker {
	w.t.Helper()
	ctx := context.Background()
	out := []walker{}
	removed, invited := w.member("gone", account.Admin), w.member("asked", account.Admin)
	w.exec(`INSERT INTO member (team_id, user_id, role, created_at) VALUES (?, ?, 'admin', ?)`, w.admin.TeamID,
		removed.UserID, db.At(time.Now()))
	admin := account.WithCaller(ctx, w.admin.Caller)
	if err := w.Accounts.RemoveMember(admin, removed.Email); err != nil {
		w.t.Fatal(err)
	}
	if err := w.Accounts.Invite(admin, invited.Email, account.Admin); err != nil {
		w.t.Fatal(err)
	}
	for name, p := range map[string]person{"a stranger who names the team": eve, "a member removed a moment ago": removed,
		"somebody who has not accepted": invited} {
		out = append(out, walker{name, func(r *http.Request) {
			by(p)(r)
			r.Header.Set("X-Team-Id", w.admin.TeamID)
		}, func(op *operation) int {
			if isInternal(op) {
				return http.StatusUnauthorized
			}
			return http.StatusForbidden
		}, true})
	}
	return append(out, walker{"a stranger", by(eve), func(op *operation) int {
		everybodys := strings.HasPrefix(op.path, "/v1/template/public/") ||
			strings.HasPrefix(op.path, "/v1/template/early/") || strings.HasPrefix(op.path, "/api/v1/byok/") || listed(op)
		switch {
		case isInternal(op):
			return http.StatusUnauthorized
		case operators(op):
			return http.StatusForbidden
		case pathParameter(op) != "" && !everybodys:
			return http.StatusNotFound
		}
		return 0
	}, true})
}

// roles are members of the team in each role, and an admin's key to read.
func (w *walk) roles() []walker {
	w.t.Helper()
	readKey := w.member(w.teamName(), account.Admin)
	readKey.key, readKey.token = w.readKey(readKey), "none"
	out := []walker{{"a key of the scope read", by(readKey), func(op *operation) int {
		switch {
		case isInternal(op) || takesBearer(op):
			return http.StatusUnauthorized
		case op.method != http.MethodGet:
			return http.StatusForbidden
		}
		return 0
	}, false}}
	for _, role := range account.Roles() {
		p := w.member(w.teamName(), role)
		out = append(out, walker{"a " + string(role), by(p), func(op *operation) int {
			switch {
			case isInternal(op):
				return http.StatusUnauthorized
			case personal(op):
				return 0
			case operators(op), changes(op) && role.ReadsOnly(), adminsOnly(op) && role != account.Admin:
				return http.StatusForbidden
			case role == account.Guest && slices.Contains(insiders, op.OperationID):
				return http.StatusForbidden
			}
			return 0
		}, false})
	}
	return out
}

func (w *walk) teamName() string {
	w.t.Helper()
	name, err := db.Value[string](context.Background(), w.db, `SELECT name FROM team WHERE id = ?`, w.admin.TeamID)
	if err != nil {
		w.t.Fatal(err)
	}
	return name
}
