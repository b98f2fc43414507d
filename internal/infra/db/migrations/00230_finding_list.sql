-- +goose Up
-- Lists of findings come from package list (docs/adr/0019-lists-from-the-database.md); rows that are there
-- already are added at the next start. The indexes below are for orders: a list that is
-- sorted by severity or status needs none.
$LIST(finding)
DROP TABLE finding_gone;
DROP INDEX finding_rev;
CREATE INDEX finding_rev ON finding (team_id, rev, no);
CREATE INDEX finding_host ON finding (team_id, host, no);
CREATE INDEX finding_port ON finding (team_id, port, no);
CREATE INDEX finding_template ON finding (team_id, template_id, no);

-- +goose Down
DROP INDEX finding_template;
DROP INDEX finding_port;
DROP INDEX finding_host;
DROP INDEX finding_rev;
CREATE INDEX finding_rev ON finding (team_id, rev);
CREATE TABLE finding_gone (
	team_id TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	rev     BIGINT NOT NULL,
	no      BIGINT NOT NULL,
	at      BIGINT NOT NULL,
	PRIMARY KEY (team_id, rev, no)
);
$NOLIST(finding)
DELETE FROM list_backfill WHERE name = 'finding';
