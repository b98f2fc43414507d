-- +goose Up
-- What was decided about a weakness, whichever scan sees it: the status of its findings in all scans, and of those to
-- come. It outlives the scans. Without a row nothing was decided.
CREATE TABLE finding_decision (
	team_id       TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	hash          TEXT NOT NULL,
	status        TEXT NOT NULL,
	is_regression BOOLEAN NOT NULL,        -- it was fixed, and came back
	actor         TEXT NOT NULL,           -- an email; empty: the service
	at            BIGINT NOT NULL,
	PRIMARY KEY (team_id, hash)
);
-- Of decisions that older versions stored with single findings, the last counts from now on.
INSERT INTO finding_decision (team_id, hash, status, is_regression, actor, at)
	SELECT team_id, hash, status, is_regression, '', updated_at FROM (
		SELECT team_id, hash, status, is_regression, updated_at,
			row_number() OVER (PARTITION BY team_id, hash ORDER BY updated_at DESC, no DESC) AS place
		FROM finding WHERE status <> 'open' OR is_regression
	) AS decided WHERE place = 1 AND team_id IN (SELECT id FROM team);

-- +goose Down
DROP TABLE finding_decision;
