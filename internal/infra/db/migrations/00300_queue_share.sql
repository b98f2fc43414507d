-- +goose Up
-- The weights of teams when workers are shared among them. A team without a row has the weight 1.
CREATE TABLE queue_share (
	team_id TEXT   PRIMARY KEY REFERENCES team (id) ON DELETE CASCADE,
	weight  BIGINT NOT NULL
);
INSERT INTO queue_share (team_id, weight)
	SELECT id, CASE plan WHEN 'ENT' THEN 4 WHEN 'PRO' THEN 2 ELSE 1 END FROM team;

-- +goose Down
DROP TABLE queue_share;
