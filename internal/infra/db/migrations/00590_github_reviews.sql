-- +goose Up
-- The latest reviews of a team, of all its repositories.
DROP INDEX github_review_team;
CREATE INDEX github_review_team ON github_review (team_id, id);

-- +goose Down
DROP INDEX github_review_team;
CREATE INDEX github_review_team ON github_review (team_id);
