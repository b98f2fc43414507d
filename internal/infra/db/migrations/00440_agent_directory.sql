-- +goose Up
-- Agents: shared with the team, their versions, the directory of the server, and which version a task used.
ALTER TABLE user_agent ADD COLUMN skills $JSON NOT NULL DEFAULT '[]';
ALTER TABLE user_agent ADD COLUMN shared BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE user_agent ADD COLUMN original_agent_id TEXT NOT NULL DEFAULT '';   -- that it is a copy of
ALTER TABLE user_agent ADD COLUMN original_creator_id TEXT NOT NULL DEFAULT ''; -- of the original
CREATE INDEX user_agent_original ON user_agent (original_agent_id) WHERE original_agent_id <> '';

CREATE TABLE user_agent_version (
	agent_id   TEXT NOT NULL REFERENCES user_agent (id) ON DELETE CASCADE,
	team_id    TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	version    BIGINT NOT NULL,
	hash       TEXT NOT NULL,
	doc        $JSON NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (agent_id, version)
);

CREATE TABLE published_agent (
	agent_id     TEXT PRIMARY KEY REFERENCES user_agent (id) ON DELETE CASCADE,
	team_id      TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	user_id      TEXT NOT NULL,
	version      BIGINT NOT NULL,
	name         TEXT NOT NULL,
	words        TEXT NOT NULL,               -- what a search looks at
	tags         TEXT NOT NULL,               -- in small letters, each between commas
	doc          $JSON NOT NULL,
	published_at BIGINT NOT NULL
);

CREATE TABLE agent_use (
	stream_id TEXT NOT NULL,
	agent_id  TEXT NOT NULL,
	task_id   TEXT NOT NULL,
	team_id   TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	name      TEXT NOT NULL,
	version   BIGINT NOT NULL,
	hash      TEXT NOT NULL,
	lead      BOOLEAN NOT NULL,               -- it worked on the task; else the task's agent could delegate to it
	used_at   BIGINT NOT NULL,
	PRIMARY KEY (stream_id, agent_id)
);
CREATE INDEX agent_use_task ON agent_use (task_id);
CREATE INDEX agent_use_agent ON agent_use (agent_id, team_id);

-- +goose Down
DROP TABLE agent_use;
DROP TABLE published_agent;
DROP TABLE user_agent_version;
DROP INDEX user_agent_original;
ALTER TABLE user_agent DROP COLUMN original_creator_id;
ALTER TABLE user_agent DROP COLUMN original_agent_id;
ALTER TABLE user_agent DROP COLUMN shared;
ALTER TABLE user_agent DROP COLUMN skills;
