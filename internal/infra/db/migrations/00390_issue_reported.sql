-- +goose Up
-- An issue that a person reports needs no task. It is kept in a scan of uploaded results, one for each team.
CREATE TABLE issue_next (
	id           TEXT PRIMARY KEY,
	team_id      TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	task_id      TEXT REFERENCES task (id) ON DELETE CASCADE, -- NULL: a person reported it outside of tasks
	hash         TEXT NOT NULL,                -- of what was found where: the same finding again is the same row
	status       TEXT NOT NULL,
	verification TEXT NOT NULL,
	severity     TEXT NOT NULL,
	title        TEXT NOT NULL,
	description  TEXT NOT NULL,
	remediation  TEXT NOT NULL,
	template_id  TEXT NOT NULL,
	target       TEXT NOT NULL,
	matched_at   TEXT NOT NULL,
	evidence     $JSON NOT NULL,
	event        $JSON NOT NULL,               -- what the engine saw first
	note         TEXT NOT NULL DEFAULT '',     -- why it is not verified
	created_at   BIGINT NOT NULL,
	updated_at   BIGINT NOT NULL,
	proof        $JSON,                        -- how to show it again, where no template of the catalogue does
	result       $JSON,                        -- of verifying it, so that it is not verified again after a crash
	retest       $JSON,                        -- the last look at it after its task; NULL: none yet
	finding_id   TEXT NOT NULL DEFAULT '',     -- the sighting that it is; empty: none
	reported_by  TEXT NOT NULL DEFAULT '',     -- an email; empty: a task saw it
	UNIQUE (task_id, hash)
);
INSERT INTO issue_next (id, team_id, task_id, hash, status, verification, severity, title, description, remediation,
	template_id, target, matched_at, evidence, event, note, created_at, updated_at, proof, result, retest, finding_id)
	SELECT id, team_id, task_id, hash, status, verification, severity, title, description, remediation,
	template_id, target, matched_at, evidence, event, note, created_at, updated_at, proof, result, retest, finding_id
	FROM issue;
DROP TABLE issue;
ALTER TABLE issue_next RENAME TO issue;
CREATE INDEX issue_of_team ON issue (team_id, verification, id);
CREATE INDEX issue_of_finding ON issue (finding_id) WHERE finding_id <> '';

CREATE TABLE issue_scan (
	team_id TEXT PRIMARY KEY REFERENCES team (id) ON DELETE CASCADE,
	scan_id TEXT NOT NULL                      -- where what people report is kept
);

-- +goose Down
DROP TABLE issue_scan;
DROP INDEX issue_of_finding;
DELETE FROM issue WHERE task_id IS NULL;
ALTER TABLE issue DROP COLUMN reported_by;
