<?php
// Pictures of pets: what begins as a picture is taken for one, and keeps its name.
session_start();
$weak = getenv('LAB_VARIANT') === 'weak';
$in = $_SESSION['owner'] ?? '';
$said = '';
if (isset($_POST['owner']) && $_POST['owner'] === 'kim.lee' && ($_POST['phrase'] ?? '') === 'Good-Boy-2') {
	session_regenerate_id(true);
	$_SESSION['owner'] = $in = 'kim.lee';
} elseif (isset($_POST['owner'])) {
	$said = 'No owner has this phrase.';
}
if (isset($_GET['leave'])) {
	session_destroy();
	header('Location: /');
	exit;
}
if ($in && is_uploaded_file($_FILES['pet']['tmp_name'] ?? '')) {
	$size = @getimagesize($_FILES['pet']['tmp_name']);
	$name = preg_replace('/[^\w.-]/', '', basename($_FILES['pet']['name']));
	if (!$size) {
		$said = 'This is no picture.';
	} else {
		if (!$weak) {
			$name = bin2hex(random_bytes(6)) . image_type_to_extension($size[2]);
		}
		move_uploaded_file($_FILES['pet']['tmp_name'], __DIR__ . '/files/' . $name);
		$said = 'Lovely! <a href="/files/' . htmlspecialchars($name) . '">Your pet</a>';
	}
}
?><!DOCTYPE html><html lang="en"><head><title>PetPics</title></head><body><h1>PetPics</h1><p class="flash"><?= $said ?></p>
<?php if ($in) { ?><form method="post" enctype="multipart/form-data"><input type="file" name="pet"><input name="caption"><input type="submit" value="Show your pet"></form><a href="/?leave=1">Leave</a>
<?php } else { ?><form method="post"><label>Owner <input name="owner"></label><label>Phrase <input name="phrase" type="password"></label><button>Come in</button></form><?php } ?>
</body></html>
