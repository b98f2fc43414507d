<?php
// Pressed flowers: a file must have the ending of a picture, wherever that stands in its name.
session_start(['cookie_httponly' => true, 'cookie_samesite' => 'Lax']);
$weak = getenv('LAB_VARIANT') === 'weak';
$said = '';
if (isset($_POST['student'])) {
	if ($_POST['student'] === 'lin.dao' && ($_POST['pin'] ?? '') === 'Gentiana-1753') {
		session_regenerate_id(true);
		$_SESSION['student'] = 'lin.dao';
		header('Location: /');
		exit;
	}
	$said = 'Unknown student or wrong pin.';
}
if (isset($_GET['leave'])) {
	session_destroy();
	header('Location: /');
	exit;
}
$in = $_SESSION['student'] ?? '';
if ($in && is_uploaded_file($_FILES['sheet']['tmp_name'] ?? '')) {
	$name = preg_replace('/[^\w.-]/', '', basename($_FILES['sheet']['name']));
	$good = $weak ? preg_match('/\.(png|jpg|gif)/i', $name) : preg_match('/^[\w-]+\.(png|jpg|gif)$/i', $name);
	if ($good && $name[0] !== '.' && strlen($name) < 60) {
		move_uploaded_file($_FILES['sheet']['tmp_name'], __DIR__ . '/files/' . $name);
		$said = "Pressed: <a href=\"/files/$name\">$name</a>";
	} else {
		$said = 'Only png, jpg and gif.';
	}
}
?><!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Herbarium</title></head><body><h1>Herbarium</h1><div class="msg"><?= $said ?></div>
<?php if ($in) { ?><p><?= $in ?> <a href="/?leave=1">leave</a></p><form method="post" action="/" enctype="multipart/form-data"><label>Sheet <input type="file" name="sheet"></label><label>Species <input name="species" value="Gentiana lutea"></label><button>Press</button></form>
<?php } else { ?><form method="post" action="/"><label>Student <input name="student"></label><label>Pin <input name="pin" type="password"></label><button>Open</button></form><?php } ?></body></html>
