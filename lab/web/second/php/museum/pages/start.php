<h1>Clocks</h1><p>Open from ten.</p>
<?php return true; ?>
