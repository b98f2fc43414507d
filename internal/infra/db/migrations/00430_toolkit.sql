-- +goose Up
-- Toolkits: tools that people write as programs, with what they share.
CREATE TABLE toolkit (
	id            TEXT PRIMARY KEY,
	team_id       TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	user_id       TEXT NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
	toolkit_id    TEXT NOT NULL,           -- what its owner calls it
	name          TEXT NOT NULL,
	description   TEXT NOT NULL,
	language      TEXT NOT NULL,
	env_vars      $JSON NOT NULL,          -- names of secrets of the owner's
	init_code     TEXT NOT NULL,
	pinned        BOOLEAN NOT NULL,
	tags          $JSON NOT NULL,
	status        TEXT NOT NULL,
	fault         TEXT NOT NULL,
	created_at    BIGINT NOT NULL,
	updated_at    BIGINT NOT NULL,
	UNIQUE (team_id, user_id, toolkit_id)
);

CREATE TABLE program_tool (
	id            TEXT PRIMARY KEY,
	team_id       TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	user_id       TEXT NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
	toolkit       TEXT NOT NULL REFERENCES toolkit (id) ON DELETE CASCADE,
	tool_id       TEXT NOT NULL,           -- what its owner and models call it
	description   TEXT NOT NULL,
	when_to_use   TEXT NOT NULL,
	code          TEXT NOT NULL,
	compiled      TEXT NOT NULL,           -- what is run
	input_schema  TEXT NOT NULL,           -- JSON, in the bytes that were checked
	output_schema TEXT NOT NULL,           -- the same; '': none
	timeout_ms    BIGINT NOT NULL,
	enabled       BOOLEAN NOT NULL,
	shared        BOOLEAN NOT NULL,
	created_at    BIGINT NOT NULL,
	updated_at    BIGINT NOT NULL,
	UNIQUE (team_id, user_id, tool_id)
);
CREATE INDEX program_tool_toolkit ON program_tool (toolkit);

-- +goose Down
DROP TABLE program_tool;
DROP TABLE toolkit;
