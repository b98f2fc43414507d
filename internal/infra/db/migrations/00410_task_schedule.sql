-- +goose Up
ALTER TABLE task ADD COLUMN schedule_id TEXT NOT NULL DEFAULT ''; -- that made it; empty: a person
CREATE INDEX task_of_schedule ON task (schedule_id) WHERE schedule_id <> '';

-- Schedules of tasks. next_run is NULL when nothing is due: paused, or done.
CREATE TABLE task_schedule (
	id             TEXT PRIMARY KEY,
	team_id        TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	user_id        TEXT NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
	project_id     TEXT NOT NULL DEFAULT '',
	name           TEXT NOT NULL,
	status         TEXT NOT NULL,
	type           TEXT NOT NULL,
	instruction    TEXT NOT NULL,
	delivery       TEXT NOT NULL,
	options        $JSON NOT NULL,        -- of each task, as task_stream has them
	rule           $JSON NOT NULL,        -- when a recurring one comes due
	metadata       $JSON,
	source_task_id TEXT NOT NULL DEFAULT '',
	runs           BIGINT NOT NULL DEFAULT 0, -- tasks that it made
	executions     BIGINT NOT NULL DEFAULT 0, -- the number of its last execution
	last_run       BIGINT,
	next_run       BIGINT,
	created_at     BIGINT NOT NULL,
	updated_at     BIGINT NOT NULL
);
CREATE INDEX task_schedule_due ON task_schedule (next_run);
CREATE INDEX task_schedule_of_user ON task_schedule (team_id, user_id, id);

-- One row for each time that a schedule came due, or was run by hand.
CREATE TABLE task_execution (
	id          TEXT PRIMARY KEY,
	schedule_id TEXT NOT NULL REFERENCES task_schedule (id) ON DELETE CASCADE,
	n           BIGINT NOT NULL,           -- 1, 2, 3, …
	due_at      BIGINT NOT NULL,
	manual      BOOLEAN NOT NULL,
	status      TEXT NOT NULL,
	note        TEXT NOT NULL,
	task_id     TEXT NOT NULL,             -- empty: no task was made
	created_at  BIGINT NOT NULL,
	report      $JSON,                     -- change.Report; NULL: its task has not ended
	known       $JSON,                     -- what the next one is compared with
	UNIQUE (schedule_id, n)
);
CREATE UNIQUE INDEX task_execution_once ON task_execution (schedule_id, due_at) WHERE NOT manual;
CREATE INDEX task_execution_of_task ON task_execution (task_id);

-- Which targets a scheduled task tested with which templates.
CREATE TABLE task_ledger (
	task_id   TEXT NOT NULL REFERENCES task (id) ON DELETE CASCADE,
	n         BIGINT NOT NULL,
	targets   $JSON NOT NULL,
	templates $JSON NOT NULL,
	tested    $BYTES NOT NULL,             -- a bit for each target and template, the templates of the first target first
	PRIMARY KEY (task_id, n)
);

-- +goose Down
DROP TABLE task_ledger;
DROP TABLE task_execution;
DROP TABLE task_schedule;
DROP INDEX task_of_schedule;
ALTER TABLE task DROP COLUMN schedule_id;
