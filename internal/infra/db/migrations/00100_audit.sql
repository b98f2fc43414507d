-- +goose Up
-- The audit log of teams. Rows are never changed. They outlive the member, the team and the object
-- that they name, and so have no foreign keys.
CREATE TABLE audit_entry (
	id         TEXT PRIMARY KEY, -- of the request
	team_id    TEXT NOT NULL,
	user_id    TEXT NOT NULL,
	email      TEXT NOT NULL,    -- as it was then
	action     TEXT NOT NULL,    -- the operation's id
	object_id  TEXT NOT NULL,    -- empty: none, or several
	method     TEXT NOT NULL,
	path       TEXT NOT NULL,    -- without the query
	status     INTEGER NOT NULL,
	ip         TEXT NOT NULL,
	source     TEXT NOT NULL,
	created_at BIGINT NOT NULL
);
CREATE INDEX audit_entry_of_team ON audit_entry (team_id, created_at, id);
CREATE INDEX audit_entry_age ON audit_entry (created_at);

-- +goose Down
DROP TABLE audit_entry;
