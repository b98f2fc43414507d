-- +goose Up
CREATE TABLE project (
	id         TEXT PRIMARY KEY,
	team_id    TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	owner_id   TEXT NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
	name       TEXT NOT NULL,               -- empty: that of its first task, when there is one
	type       TEXT NOT NULL,
	settings   TEXT NOT NULL,               -- Markdown for the agents of its tasks
	tags       $JSON NOT NULL,
	shared     BOOLEAN NOT NULL,            -- with everybody in the team
	memory     $JSON NOT NULL,
	cap_cents  BIGINT,                      -- NULL: none
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL
);
CREATE INDEX project_of_team ON project (team_id, id);

CREATE TABLE project_member (
	project_id TEXT NOT NULL REFERENCES project (id) ON DELETE CASCADE,
	team_id    TEXT NOT NULL,
	user_id    TEXT NOT NULL,
	role       TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (project_id, user_id),
	FOREIGN KEY (team_id, user_id) REFERENCES member (team_id, user_id) ON DELETE CASCADE
);
CREATE INDEX project_member_of_user ON project_member (team_id, user_id);

ALTER TABLE member ADD COLUMN restricted BOOLEAN NOT NULL DEFAULT FALSE; -- sees only projects to which they were invited

ALTER TABLE task ADD COLUMN project_id TEXT NOT NULL DEFAULT '';
CREATE INDEX task_of_project ON task (project_id) WHERE project_id <> '';

-- +goose Down
DROP INDEX task_of_project;
ALTER TABLE task DROP COLUMN project_id;
ALTER TABLE member DROP COLUMN restricted;
DROP TABLE project_member;
DROP TABLE project;
