<p>This page is being wound up.</p>
<?php return true; ?>
