package app

import (
	"database/sql"
	"fmt"
	"regexp"
	"strings"
)

// digest is what state has read, and whether that still holds.
type digest struct {
	read   *sql.Stmt // of all tables at once
	tables []string
	at     int    // how often they were written before they were read
	text   string // "": they were not read yet
}

// state is a digest of all tables that requests change. It is asked for often, so the tables are read only after one
// of them was written, by one prepared statement.
func (h *testServer) state() string {
	h.t.Helper()
	s := h.digest
	if s.tables == nil {
		for _, query := range digests {
			s.tables = append(s.tables, tablesOf(query)...)
		}
	}
	h.written.look(h.t)
	if at := h.written.times(h.t, s.tables); s.text == "" || at != s.at {
		s.text, s.at = h.readState(), at
	}
	return s.text
}

var fromTable = regexp.MustCompile(`FROM (\w+)`)

// tablesOf are the tables that a query reads.
func tablesOf(query string) (names []string) {
	for _, m := range fromTable.FindAllStringSubmatch(query, -1) {
		names = append(names, m[1])
	}
	return names
}

func (h *testServer) readState() string {
	h.t.Helper()
	if h.digest.read == nil {
		parts := make([]string, len(digests))
		for i, query := range digests {
			parts[i] = fmt.Sprintf("SELECT %d, %s", i, query)
		}
		var err error
		if h.digest.read, err = h.db.Writer().Prepare(strings.Join(parts, " UNION ALL ")); err != nil {
			h.t.Fatal(err)
		}
	}
	rows, err := h.digest.read.Query()
	if err != nil {
		h.t.Fatal(err)
	}
	defer rows.Close()
	lines := make([]string, len(digests))
	for rows.Next() {
		var at int
		var count, sum int64
		var text string
		if err := rows.Scan(&at, &count, &text, &sum); err != nil {
			h.t.Fatal(err)
		}
		lines[at] = fmt.Sprintln(count, text, sum)
	}
	if err := rows.Err(); err != nil {
		h.t.Fatal(err)
	}
	return strings.Join(lines, "")
}

// digests select a count, a text and a sum of each table that requests change.
var digests = []string{
	`count(*), coalesce(max(title || visibility), ''), coalesce(max(created_at), 0) FROM task`,
	`count(*), coalesce(max(status), ''), coalesce(sum(last_seq), 0) FROM task_stream`,
	`count(*), coalesce(max(user_id || task_id), ''), coalesce(sum(updated_at), 0) FROM task_memory`,
	`count(*), coalesce(max(name || masked), ''), coalesce(sum(updated_at), 0) FROM secret`,
	`count(*), coalesce(max(key || etag), ''), coalesce(sum(modified_at), 0) FROM file`,
	`count(*), coalesce(max(name), ''), coalesce(sum(created_at + round), 0) FROM knowledge_source`,
	`count(*), coalesce(max(name || description || system_context), ''), coalesce(sum(updated_at), 0) FROM user_agent`,
	`count(*), coalesce(max(name || url || headers || masked || trusted_tools || accepted), ''), coalesce(sum(updated_at), 0) FROM mcp_server`,
	`count(*), coalesce(max(name || description || request || input_schema), ''), coalesce(sum(updated_at), 0) FROM http_tool`,
	`count(*), coalesce(max(title || severity || status || description || remediation), ''), coalesce(sum(updated_at), 0) FROM issue`,
	`count(*), coalesce(max(name || selection || sort), ''), coalesce(sum(updated_at + position), 0) FROM triage_queue`,
	`count(*), coalesce(max(name || rule), ''), coalesce(sum(updated_at + position + applied), 0) FROM triage_rule`,
	`count(*), coalesce(max(email || hash), ''), coalesce(sum(until), 0) FROM triage_claim`,
	`count(*), coalesce(max(state || reason), ''), coalesce(sum(created_at), 0) FROM triage_suggestion`,
	`count(*), coalesce(max(name || webhook_url), ''), coalesce(sum(updated_at), 0) + coalesce(sum(default_spending_cap_cents), -1) FROM team`,
	`count(*), coalesce(max(password_hash), ''), coalesce(sum(spending_cap_cents), -1) FROM user_account`,
	`count(*), coalesce(max(name || status), ''), coalesce(sum(updated_at), 0) FROM scan`,
	`count(*), coalesce(max(status || labels), ''), coalesce(sum(updated_at), 0) FROM finding`,
	`count(*), coalesce(max(custom || template_id), ''), coalesce(sum(updated_at), 0) FROM finding_severity`,
	`count(*), coalesce(max(frequency), ''), coalesce(sum(next_run), 0) FROM scan_schedule`,
	`count(*), coalesce(max(value), ''), coalesce(sum(id), 0) FROM scan_exclusion`,
	`count(*), coalesce(max(digest || path || prompt), ''), coalesce(sum(updated_at), 0) FROM template`,
	`count(*), coalesce(max(share_type || ttl || id), ''), coalesce(sum(updated_at), 0) FROM template_share`,
	`count(*), coalesce(max(state), ''), coalesce(sum(updated_at), 0) FROM export`,
	`count(*), coalesce(max(hash), ''), coalesce(sum(created_at), 0) FROM api_key`,
	`count(*), coalesce(max(provider || display_name), ''), coalesce(sum(updated_at), 0) FROM model_key`,
	`count(*), coalesce(max(team_id || mode), ''), 0 FROM model_mode`,
	`count(*), coalesce(max(team_id || user_id || role), ''), coalesce(sum(created_at), 0) FROM member`,
	`count(*), coalesce(max(team_id || email || role), ''), coalesce(sum(created_at), 0) FROM invitation`,
	`count(*), coalesce(max(team_id || email || role), ''), coalesce(sum(place), 0) FROM default_member`,
}
