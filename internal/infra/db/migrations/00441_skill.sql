-- +goose Up
-- Skills: folders of know-how for agents, in the open format SKILL.md.
CREATE TABLE skill (
	id            TEXT PRIMARY KEY,
	team_id       TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	user_id       TEXT NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
	name          TEXT NOT NULL,
	description   TEXT NOT NULL,
	instructions  TEXT NOT NULL,
	license       TEXT NOT NULL,
	compatibility TEXT NOT NULL,
	metadata      $JSON NOT NULL,
	shared        BOOLEAN NOT NULL,        -- with all tasks of the team
	enabled       BOOLEAN NOT NULL,
	source        TEXT NOT NULL,           -- the URL that it was imported from, 'archive', or 'api'
	revision      TEXT NOT NULL,           -- the commit of a git remote
	version       BIGINT NOT NULL,
	hash          TEXT NOT NULL,
	created_at    BIGINT NOT NULL,
	updated_at    BIGINT NOT NULL,
	UNIQUE (team_id, user_id, name)
);

CREATE TABLE skill_file (
	skill_id TEXT NOT NULL REFERENCES skill (id) ON DELETE CASCADE,
	team_id  TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	path     TEXT NOT NULL,
	content  $BYTES NOT NULL,
	PRIMARY KEY (skill_id, path)
);

CREATE TABLE skill_switch (               -- shipped skills that a team has turned off
	team_id TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	name    TEXT NOT NULL,
	PRIMARY KEY (team_id, name)
);

CREATE TABLE skill_use (
	stream_id TEXT NOT NULL,
	skill_id  TEXT NOT NULL,
	task_id   TEXT NOT NULL,
	team_id   TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	name      TEXT NOT NULL,
	version   BIGINT NOT NULL,
	hash      TEXT NOT NULL,
	used_at   BIGINT NOT NULL,
	PRIMARY KEY (stream_id, skill_id)
);
CREATE INDEX skill_use_task ON skill_use (task_id);
CREATE INDEX skill_use_skill ON skill_use (skill_id, team_id);

-- +goose Down
DROP TABLE skill_use;
DROP TABLE skill_switch;
DROP TABLE skill_file;
DROP TABLE skill;
