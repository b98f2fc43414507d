package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// Values has a shell complete the values of a flag, in lists separated by commas too. The flag must exist.
func Values(cmd *cobra.Command, flag string, values ...string) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) (
		found []string, _ cobra.ShellCompDirective,
	) {
		before := typed[:strings.LastIndexByte(typed, ',')+1]
		for _, value := range values {
			if strings.HasPrefix(before+value, typed) {
				found = append(found, before+value)
			}
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // the flag does not exist, or has values already
	}
}

// Folders has a shell complete the value of a flag with folders. The flag must exist.
func Folders(cmd *cobra.Command, flag string) {
	if err := cmd.MarkFlagDirname(flag); err != nil {
		panic(err)
	}
}
