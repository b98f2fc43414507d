// Package sharing is the rule by which members of a team see each other's agents, skills and prompts: each member sees
// their own, and those that somebody who is still in the team shares with it.
package sharing

// Origin says where such a thing comes from, as its viewer sees it.
type Origin string

// The origins.
const (
	Own       Origin = "user"      // the viewer's
	Team      Origin = "team"      // a colleague's, shared with the team
	Shipped   Origin = "shipped"   // comes with the server
	Published Origin = "published" // of the directory, by whoever published it
)

// Of is the origin of what is stored for an owner.
func Of(ownerID, viewerID string) Origin {
	if ownerID == viewerID {
		return Own
	}
	return Team
}

// Visible is the condition of a query for what a user sees of a table with the columns team_id, user_id and shared,
// which the query calls by this name. Its arguments are the team and the user.
func Visible(table string) string {
	return ` WHERE ` + table + `.team_id = ? AND (` + table + `.user_id = ? OR ` + table + `.shared AND EXISTS (SELECT 1 FROM member m
	WHERE m.team_id = ` + table + `.team_id AND m.user_id = ` + table + `.user_id))`
}
