<?php
// A forum about old cars: its own codes become tags, and quotes stay as they are.
$weak = getenv('LAB_VARIANT') === 'weak';
$keep = __DIR__ . '/files/posts.json';
$posts = is_file($keep) ? json_decode(file_get_contents($keep), true) : [['Werner', "[b]Opel Kadett[/b] with the small engine:\n[img]/kadett.png[/img]"]];
if (isset($_POST['post'])) {
	$posts = array_slice([...$posts, [mb_substr((string) ($_POST['by'] ?? 'guest'), 0, 30), mb_substr((string) $_POST['post'], 0, 400)]], -15);
	file_put_contents($keep, json_encode($posts));
	header('Location: /', true, 303);
	exit;
}
function codes(string $text, bool $weak): string
{
	$text = htmlspecialchars($text, $weak ? ENT_NOQUOTES : ENT_QUOTES);
	$text = preg_replace('#\[b\](.*?)\[/b\]#s', '<b>$1</b>', $text);
	$text = preg_replace('#\[img\](/[^\r\n]*?)\[/img\]#', '<img src="$1">', $text);
	return nl2br($text);
}
?><!DOCTYPE html PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN"><html><head><title>Oldtimer board</title></head><body link="navy"><table border="1" cellpadding="6" width="90%"><tr bgcolor="#aaccee"><td>Author</td><td>Post</td></tr>
<?php foreach ($posts as [$by, $text]) { echo '<tr><td>', htmlspecialchars($by), '</td><td>', codes($text, $weak), '</td></tr>'; } ?>
</table><form action="/index.php" method="post">Name <input name="by" value="guest"><br><textarea name="post" cols="60" rows="5"></textarea><br><input type="submit" value="Post"></form><small>[b]bold[/b] [img]/picture.png[/img]</small></body></html>
