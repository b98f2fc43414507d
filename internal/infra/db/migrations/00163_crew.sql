-- +goose Up
-- Custom agents: an addition to the system prompt, and a choice of tools.
CREATE TABLE user_agent (
	id             TEXT PRIMARY KEY,
	team_id        TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	user_id        TEXT NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
	name           TEXT NOT NULL,
	description    TEXT NOT NULL,
	when_to_use    TEXT NOT NULL,
	system_context TEXT NOT NULL,
	tags           $JSON NOT NULL,
	native_tools   $JSON NOT NULL,           -- empty: all
	version        BIGINT NOT NULL,          -- grows with each change
	created_at     BIGINT NOT NULL,
	updated_at     BIGINT NOT NULL,
	UNIQUE (team_id, user_id, name)
);

-- +goose Down
DROP TABLE user_agent;
