-- +goose Up
-- What is run of an agent, and what became of its last installation.
ALTER TABLE user_agent ADD COLUMN programs $JSON NOT NULL DEFAULT '{}';

CREATE TABLE agent_installation (
	agent_id   TEXT PRIMARY KEY REFERENCES user_agent (id) ON DELETE CASCADE,
	team_id    TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	hash       TEXT NOT NULL,                 -- of what was installed
	status     TEXT NOT NULL,
	fault      TEXT NOT NULL,
	output     TEXT NOT NULL,                 -- its end
	updated_at BIGINT NOT NULL
);

-- +goose Down
DROP TABLE agent_installation;
ALTER TABLE user_agent DROP COLUMN programs;
