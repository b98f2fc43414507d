-- +goose Up
-- A ticket is kept in step with its issue: what each side was when they were in step last, what is being written, and
-- when to look again. ours and theirs are states as internal/notify/tracker has them; empty: open, as it was filed.
ALTER TABLE ticket ADD COLUMN ours TEXT NOT NULL DEFAULT '';
ALTER TABLE ticket ADD COLUMN theirs TEXT NOT NULL DEFAULT '';
ALTER TABLE ticket ADD COLUMN native TEXT NOT NULL DEFAULT '';         -- the tracker's own word for theirs
ALTER TABLE ticket ADD COLUMN version TEXT NOT NULL DEFAULT '';        -- of the issue, as it was read last
ALTER TABLE ticket ADD COLUMN hint TEXT NOT NULL DEFAULT '';           -- a label that was suggested as a decision
ALTER TABLE ticket ADD COLUMN intent TEXT NOT NULL DEFAULT '';         -- the state that is being written
ALTER TABLE ticket ADD COLUMN is_claimed BOOLEAN NOT NULL DEFAULT FALSE; -- the tracker says done, and no test has yet
ALTER TABLE ticket ADD COLUMN is_gone BOOLEAN NOT NULL DEFAULT FALSE;  -- the issue was deleted
ALTER TABLE ticket ADD COLUMN conflict_at BIGINT;                      -- both sides have changed; NULL: no conflict
ALTER TABLE ticket ADD COLUMN seen TEXT NOT NULL DEFAULT '';           -- the issue's state as it was read last
ALTER TABLE ticket ADD COLUMN last_no BIGINT NOT NULL DEFAULT 0;       -- of the outbox
ALTER TABLE ticket ADD COLUMN is_queued BOOLEAN NOT NULL DEFAULT FALSE; -- a job waits
ALTER TABLE ticket ADD COLUMN is_stale BOOLEAN NOT NULL DEFAULT FALSE; -- something came while a job worked
ALTER TABLE ticket ADD COLUMN retry_at BIGINT;                         -- look again then; NULL: there is nothing to do
ALTER TABLE ticket ADD COLUMN fails BIGINT NOT NULL DEFAULT 0;         -- in a row
ALTER TABLE ticket ADD COLUMN error TEXT NOT NULL DEFAULT '';          -- of the last failure
ALTER TABLE ticket ADD COLUMN notes_until BIGINT;                      -- comments were taken in until then
CREATE INDEX ticket_retry ON ticket (retry_at);
CREATE INDEX ticket_issue ON ticket (team_id, config_id, provider, issue_id);

-- What is to be told to an issue, in this order, written in the transaction of the change.
CREATE TABLE ticket_outbox (
	team_id    TEXT NOT NULL,
	hash       TEXT NOT NULL,
	config_id  TEXT NOT NULL,
	provider   TEXT NOT NULL,
	no         BIGINT NOT NULL,
	kind       TEXT NOT NULL,                -- status, seen or comment
	text       TEXT NOT NULL,                -- the status, what saw the finding, or the comment
	author     TEXT NOT NULL,                -- an email; empty: the service
	tries      BIGINT NOT NULL DEFAULT 0,    -- counted before each; after one, the comment may be there already
	created_at BIGINT NOT NULL,
	PRIMARY KEY (team_id, hash, config_id, provider, no),
	FOREIGN KEY (team_id, hash, config_id, provider) REFERENCES ticket (team_id, hash, config_id, provider)
		ON DELETE CASCADE
);

-- Comments of an issue that were taken in.
CREATE TABLE ticket_note (
	team_id   TEXT NOT NULL,
	hash      TEXT NOT NULL,
	config_id TEXT NOT NULL,
	provider  TEXT NOT NULL,
	note_id   TEXT NOT NULL,
	PRIMARY KEY (team_id, hash, config_id, provider, note_id),
	FOREIGN KEY (team_id, hash, config_id, provider) REFERENCES ticket (team_id, hash, config_id, provider)
		ON DELETE CASCADE
);

-- The trackers of reporting configurations: where the questions for changes have come to, and what they ask of us.
CREATE TABLE ticket_tracker (
	team_id     TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	config_id   TEXT NOT NULL,
	provider    TEXT NOT NULL,
	account     TEXT NOT NULL DEFAULT '',  -- who we are there, as events name us
	since       BIGINT NOT NULL,           -- changes before were taken in
	poll_at     BIGINT,                    -- the next question; NULL: there is nothing to ask for
	pause_until BIGINT,                    -- nothing is sent before
	fails       BIGINT NOT NULL DEFAULT 0, -- in a row
	minute_at   BIGINT NOT NULL DEFAULT 0, -- the minute, and how much was written in it
	minute_n    BIGINT NOT NULL DEFAULT 0,
	hour_at     BIGINT NOT NULL DEFAULT 0,
	hour_n      BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (team_id, config_id, provider)
);
CREATE INDEX ticket_tracker_poll ON ticket_tracker (poll_at);

-- Webhooks of trackers that were taken, by their ids.
CREATE TABLE ticket_delivery (
	team_id     TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	config_id   TEXT NOT NULL,
	provider    TEXT NOT NULL,
	delivery_id TEXT NOT NULL,
	at          BIGINT NOT NULL,
	PRIMARY KEY (team_id, config_id, provider, delivery_id)
);
-- Tickets of before are looked at once, when their tracker is asked for changes.
INSERT INTO ticket_tracker (team_id, config_id, provider, since, poll_at)
	SELECT team_id, config_id, provider, MIN(created_at), 0 FROM ticket WHERE issue_id <> ''
	GROUP BY team_id, config_id, provider;

-- +goose Down
DROP TABLE ticket_delivery;
DROP TABLE ticket_tracker;
DROP TABLE ticket_note;
DROP TABLE ticket_outbox;
DROP INDEX ticket_issue;
DROP INDEX ticket_retry;
ALTER TABLE ticket DROP COLUMN notes_until;
ALTER TABLE ticket DROP COLUMN error;
ALTER TABLE ticket DROP COLUMN fails;
ALTER TABLE ticket DROP COLUMN retry_at;
ALTER TABLE ticket DROP COLUMN is_stale;
ALTER TABLE ticket DROP COLUMN is_queued;
ALTER TABLE ticket DROP COLUMN last_no;
ALTER TABLE ticket DROP COLUMN seen;
ALTER TABLE ticket DROP COLUMN conflict_at;
ALTER TABLE ticket DROP COLUMN is_gone;
ALTER TABLE ticket DROP COLUMN is_claimed;
ALTER TABLE ticket DROP COLUMN intent;
ALTER TABLE ticket DROP COLUMN hint;
ALTER TABLE ticket DROP COLUMN version;
ALTER TABLE ticket DROP COLUMN native;
ALTER TABLE ticket DROP COLUMN theirs;
ALTER TABLE ticket DROP COLUMN ours;
