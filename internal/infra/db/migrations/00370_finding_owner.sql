-- +goose Up
-- Who works on a finding: an email of a member, the same for all findings of a weakness; empty: nobody.
ALTER TABLE finding ADD COLUMN assignee TEXT NOT NULL DEFAULT '';
-- What was changed by one request is undone together.
ALTER TABLE finding_change ADD COLUMN operation TEXT NOT NULL DEFAULT '';
CREATE INDEX finding_change_operation ON finding_change (team_id, operation) WHERE operation <> '';

-- Comments on a weakness (package core/finding/comment). Those of before are in the timelines of its findings.
CREATE TABLE finding_comment (
	team_id   TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	id        TEXT NOT NULL,
	hash      TEXT NOT NULL,               -- the weakness
	author    TEXT NOT NULL,               -- an email, or a name and the tracker that it was written in
	text      TEXT NOT NULL,
	at        BIGINT NOT NULL,
	edited_at BIGINT,
	PRIMARY KEY (team_id, id)
);
CREATE INDEX finding_comment_of ON finding_comment (team_id, hash, at);
INSERT INTO finding_comment (team_id, id, hash, author, text, at)
	SELECT c.team_id, 'c' || c.seq, CASE WHEN f.weakness = '' THEN f.hash ELSE f.weakness END, c.actor, c.new_value, c.at
	FROM finding_change c JOIN finding f ON f.team_id = c.team_id AND f.no = c.no
	WHERE c.type = 'comment' AND NOT f.is_repeat AND c.team_id IN (SELECT id FROM team);

-- What people are told of (package core/inbox).
CREATE TABLE inbox_message (
	team_id    TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	user_id    TEXT NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
	id         TEXT NOT NULL,
	kind       TEXT NOT NULL,
	finding_id TEXT NOT NULL,              -- empty: it is about several
	text       TEXT NOT NULL,
	actor      TEXT NOT NULL,              -- an email; empty: the service
	at         BIGINT NOT NULL,
	read_at    BIGINT,
	PRIMARY KEY (team_id, user_id, id)
);
CREATE INDEX inbox_message_at ON inbox_message (team_id, user_id, at);

-- +goose Down
DROP TABLE inbox_message;
DROP TABLE finding_comment;
DROP INDEX finding_change_operation;
ALTER TABLE finding_change DROP COLUMN operation;
ALTER TABLE finding DROP COLUMN assignee;
