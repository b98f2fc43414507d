-- +goose Up
-- Credits that an operator granted to a team, of which one is a US dollar. Calls of the server's models use those that
-- expire first.
CREATE TABLE credit_grant (
	id         TEXT PRIMARY KEY,
	team_id    TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	micros     BIGINT NOT NULL,          -- millionths of a credit
	used       BIGINT NOT NULL DEFAULT 0,
	note       TEXT NOT NULL,
	granted_by TEXT NOT NULL,            -- an e-mail address; empty: the operator's command line
	created_at BIGINT NOT NULL,
	expires_at BIGINT,                   -- NULL: never
	revoked_at BIGINT                    -- NULL: it was not
);
CREATE INDEX credit_grant_of_team ON credit_grant (team_id, created_at, id);
CREATE INDEX reservation_of_team ON reservation (team_id, settled_at);

-- +goose Down
DROP INDEX reservation_of_team;
DROP TABLE credit_grant;
