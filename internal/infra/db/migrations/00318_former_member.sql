-- +goose Up
-- What a member of a team may spend and has spent there, kept while they are out of it: leaving lifts no cap.
CREATE TABLE former_member (
	team_id            TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	user_id            TEXT NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
	spending_cap_cents BIGINT, -- NULL: the team's default
	spent_cents        BIGINT NOT NULL,
	PRIMARY KEY (team_id, user_id)
);
CREATE INDEX former_member_user ON former_member (user_id);

-- +goose Down
DROP TABLE former_member;
