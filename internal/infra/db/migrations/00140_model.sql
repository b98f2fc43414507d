-- +goose Up
-- Keys for language models of teams and users. user_id is empty for a team's key.
CREATE TABLE model_key (
	id           TEXT PRIMARY KEY,
	team_id      TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	user_id      TEXT NOT NULL,
	provider     TEXT NOT NULL,
	display_name TEXT NOT NULL,
	base_url     TEXT NOT NULL,
	location     TEXT NOT NULL,
	model        TEXT NOT NULL,           -- what "auto" means with this key; empty: the provider's default
	models       $JSON NOT NULL,          -- what the provider listed when the key was checked
	sealed       $BYTES NOT NULL,         -- the key, sealed with the id
	created_at   BIGINT NOT NULL,
	updated_at   BIGINT NOT NULL,
	UNIQUE (team_id, user_id, provider)
);

-- Whose keys are used: 'vedette' (the server's, the default) or 'byok'.
CREATE TABLE model_mode (
	team_id TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	user_id TEXT NOT NULL,
	mode    TEXT NOT NULL,
	PRIMARY KEY (team_id, user_id)
);

-- The usage of each stream of a task. It outlives the task.
CREATE TABLE model_usage (
	stream_id       TEXT PRIMARY KEY,
	task_id         TEXT NOT NULL,
	team_id         TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	user_id         TEXT NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
	title           TEXT NOT NULL,
	model           TEXT NOT NULL,
	provider        TEXT NOT NULL,
	status          TEXT NOT NULL,
	byok            BOOLEAN NOT NULL,
	priced          BOOLEAN NOT NULL,
	input_tokens    BIGINT NOT NULL,
	output_tokens   BIGINT NOT NULL,
	cache_read      BIGINT NOT NULL,
	cache_write     BIGINT NOT NULL,
	micros          BIGINT NOT NULL,      -- millionths of a US dollar
	steps           BIGINT NOT NULL,
	tool_calls      BIGINT NOT NULL,
	agent_triggers  BIGINT NOT NULL,
	llm_ms          BIGINT NOT NULL,
	tool_ms         BIGINT NOT NULL,
	total_ms        BIGINT NOT NULL,
	detail          $JSON NOT NULL,       -- calls by agent and by tool, and each call
	error           TEXT NOT NULL,
	created_at      BIGINT NOT NULL,
	updated_at      BIGINT NOT NULL
);
CREATE INDEX model_usage_of_team ON model_usage (team_id, created_at);
CREATE INDEX model_usage_of_task ON model_usage (task_id, created_at);

-- Reserved and spent amounts of tasks, members and (for the server's models) teams, in millionths of a
-- US dollar. reserved includes spent: spent <= reserved <= cap.
CREATE TABLE spending (
	kind     TEXT NOT NULL,
	id       TEXT NOT NULL,
	reserved BIGINT NOT NULL,
	spent    BIGINT NOT NULL,
	PRIMARY KEY (kind, id)
);
CREATE TABLE reservation (
	task_id    TEXT NOT NULL,
	key        TEXT NOT NULL,
	team_id    TEXT NOT NULL,
	user_id    TEXT NOT NULL,
	byok       BOOLEAN NOT NULL,
	reserved   BIGINT NOT NULL,
	spent      BIGINT,                    -- NULL: the call is under way
	created_at BIGINT NOT NULL,
	settled_at BIGINT,
	PRIMARY KEY (task_id, key)
);

ALTER TABLE team ADD COLUMN default_spending_cap_cents BIGINT; -- of members without one of their own; NULL: none

-- +goose Down
ALTER TABLE team DROP COLUMN default_spending_cap_cents;
DROP TABLE reservation;
DROP TABLE spending;
DROP TABLE model_usage;
DROP TABLE model_mode;
DROP TABLE model_key;
