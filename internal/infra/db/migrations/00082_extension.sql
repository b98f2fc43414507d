-- +goose Up
-- MCP servers whose tools their owner's tasks may use, or, if shared, all tasks of the team.
CREATE TABLE mcp_server (
	id            TEXT PRIMARY KEY,
	team_id       TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	user_id       TEXT NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
	name          TEXT NOT NULL,
	url           TEXT NOT NULL,
	headers       $JSON NOT NULL,          -- templates: {{$NAME}} is a secret of the owner's
	sealed        $BYTES,                  -- the bearer token, sealed with the id; NULL: none
	masked        TEXT NOT NULL,
	enabled       BOOLEAN NOT NULL,
	shared        BOOLEAN NOT NULL,
	read_only     BOOLEAN NOT NULL,
	enabled_tools $JSON,                   -- names; NULL: all
	trusted_tools $JSON NOT NULL,
	accepted      TEXT NOT NULL,           -- the tools as they were accepted, a JSON list in the bytes that were checked
	status        TEXT NOT NULL,
	fault_code    TEXT NOT NULL,
	fault         TEXT NOT NULL,
	checked_at    BIGINT NOT NULL,
	created_at    BIGINT NOT NULL,
	updated_at    BIGINT NOT NULL,
	UNIQUE (team_id, user_id, name)
);

-- HTTP tools: a request with placeholders for arguments.
CREATE TABLE http_tool (
	id           TEXT PRIMARY KEY,
	team_id      TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	user_id      TEXT NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
	name         TEXT NOT NULL,
	description  TEXT NOT NULL,
	when_to_use  TEXT NOT NULL,
	input_schema TEXT NOT NULL,            -- JSON, in the bytes that were checked
	request      TEXT NOT NULL,            -- JSON, see httptool.Template
	timeout_ms   BIGINT NOT NULL,
	enabled      BOOLEAN NOT NULL,
	shared       BOOLEAN NOT NULL,
	trusted      BOOLEAN NOT NULL,
	created_at   BIGINT NOT NULL,
	updated_at   BIGINT NOT NULL,
	UNIQUE (team_id, user_id, name)
);

-- +goose Down
DROP TABLE http_tool;
DROP TABLE mcp_server;
