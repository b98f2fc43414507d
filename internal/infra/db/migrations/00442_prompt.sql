-- +goose Up
-- Prompts: instructions of tasks with variables, and their versions.
CREATE TABLE prompt (
	id          TEXT PRIMARY KEY,
	team_id     TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	user_id     TEXT NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
	name        TEXT NOT NULL,
	description TEXT NOT NULL,
	text        TEXT NOT NULL,
	variables   $JSON NOT NULL,
	tags        $JSON NOT NULL,
	shared      BOOLEAN NOT NULL,
	version     BIGINT NOT NULL,
	created_at  BIGINT NOT NULL,
	updated_at  BIGINT NOT NULL,
	UNIQUE (team_id, user_id, name)
);

CREATE TABLE prompt_version (
	prompt_id  TEXT NOT NULL REFERENCES prompt (id) ON DELETE CASCADE,
	team_id    TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	version    BIGINT NOT NULL,
	doc        $JSON NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (prompt_id, version)
);

CREATE TABLE prompt_use (                 -- what was made from a prompt
	prompt_id TEXT NOT NULL,
	made_id   TEXT NOT NULL,              -- of a task's stream or of a schedule
	team_id   TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	version   BIGINT NOT NULL,
	used_at   BIGINT NOT NULL,
	PRIMARY KEY (prompt_id, made_id)
);

-- +goose Down
DROP TABLE prompt_use;
DROP TABLE prompt_version;
DROP TABLE prompt;
